# As much of nixpkgs' lib as nixos/ uses, written for these tests so that they
# need no network: modules with options and types, and some helpers. It is
# strict where it matters here (an unknown option and a value of another type
# are errors that name the option) and leaves out the rest (files of
# definitions, ordering, freeform types, documentation).
let
  inherit (builtins)
    all
    attrNames
    concatLists
    concatMap
    concatStringsSep
    elem
    filter
    foldl'
    functionArgs
    head
    isAttrs
    isBool
    isFunction
    isInt
    isList
    isPath
    isString
    length
    listToAttrs
    mapAttrs
    toJSON
    ;

  # Definitions and what may stand around them.
  wrap = _type: rest: rest // { inherit _type; };
  mkIf = condition: content: wrap "if" { inherit condition content; };
  mkMerge = contents: wrap "merge" { inherit contents; };
  mkOverride = priority: content: wrap "override" { inherit priority content; };
  mkOption = wrap "option";
  kind = v: if isAttrs v then v._type or "" else "";

  # push moves what stands around a set to its members, as the names in it may
  # not depend on a condition.
  push =
    v:
    if kind v == "if" then
      map (mapAttrs (_: mkIf v.condition)) (push v.content)
    else if kind v == "merge" then
      concatMap push v.contents
    else if kind v == "override" then
      map (mapAttrs (_: mkOverride v.priority)) (push v.content)
    else
      [ v ];

  # plainOf gives the values that hold, of the strongest priority.
  plainOf =
    defs:
    let
      open =
        priority: v:
        if kind v == "if" then
          if v.condition then open priority v.content else [ ]
        else if kind v == "merge" then
          concatMap (open priority) v.contents
        else if kind v == "override" then
          open v.priority v.content
        else
          [ { inherit priority; value = v; } ];
      opened = concatMap (open 100) defs;
      strongest = foldl' (a: d: if d.priority < a then d.priority else a) 9999 opened;
    in
    map (d: d.value) (filter (d: d.priority == strongest) opened);

  show = concatStringsSep ".";

  # valueOf gives an option's value of its definitions, or stops with what is
  # wrong with them.
  valueOf =
    at: type: defs:
    let
      values = plainOf defs;
      bad = filter (v: !type.check v) values;
    in
    if values == [ ] then
      throw "The option `${show at}' was accessed but has no value defined."
    else if bad != [ ] then
      throw "A definition for option `${show at}' is not of type `${type.description}': ${shown (head bad)}"
    else
      type.merge at values;
  shown = v: if isFunction v || isPath v then "<${builtins.typeOf v}>" else toJSON v;

  # evalTree gives the values of a tree of options. decls and defs are lists of
  # sets, one a module.
  evalTree =
    at: decls: defs:
    let
      names = concatMap attrNames decls;
      of = name: list: concatMap (s: if s ? ${name} then [ s.${name} ] else [ ]) list;
      unknown = filter (n: !elem n names) (concatMap attrNames defs);
      value =
        name:
        let
          here = at ++ [ name ];
          ds = of name decls;
          option = head ds;
          default = if option ? default then [ (mkOverride 1500 option.default) ] else [ ];
        in
        if kind option == "option" then
          if length ds > 1 then
            throw "The option `${show here}' is declared twice."
          else
            valueOf here option.type (of name defs ++ default)
        else
          evalTree here ds (concatMap push (of name defs));
    in
    if unknown != [ ] then
      throw "The option `${show (at ++ [ (head unknown) ])}' does not exist."
    else
      listToAttrs (map (name: { inherit name; value = value name; }) names);

  # evalAt evaluates modules as the options beneath at.
  evalAt =
    at: args: modules:
    let
      # A module that is named by its file counts once, however often it is.
      load =
        key: m:
        if isPath m then
          load (toString m) (import m)
        else if isFunction m then
          load key (m (args // { inherit config; }))
        else
          concatMap (load "") (m.imports or [ ]) ++ [ { inherit key m; } ];
      once =
        done: x: if x.key != "" && builtins.any (y: y.key == x.key) done then done else done ++ [ x ];
      loaded = map (x: x.m) (foldl' once [ ] (concatMap (load "") modules));
      isFull = m: m ? config || m ? options;
      decls = map (m: m.options or { }) loaded;
      defs = map (m: if isFull m then m.config or { } else removeAttrs m [ "imports" ]) loaded;
      config = evalTree at decls (concatMap push defs);
    in
    config;

  evalModules =
    { modules, specialArgs }:
    {
      config = evalAt [ ] (specialArgs // { inherit lib; }) modules;
    };

  # Types.
  simple = description: check: {
    inherit description check;
    merge =
      at: values:
      if all (v: v == head values) values then
        head values
      else
        throw "The option `${show at}' has conflicting definition values.";
  };
  int = low: high: description: simple description (v: isInt v && v >= low && v <= high);
  types = {
    str = simple "string" isString;
    bool = simple "boolean" isBool;
    raw = simple "raw value" (_: true);
    package = simple "package" (v: isAttrs v);
    path = simple "absolute path" (v: isPath v || isString v || isAttrs v);
    enum = values: simple "one of ${concatStringsSep ", " (map toJSON values)}" (v: elem v values);
    strMatching =
      pattern:
      simple "string matching the pattern ${pattern}" (
        v: isString v && builtins.match pattern v != null
      );
    ints.u32 = int 0 4294967295 "32 bit unsigned integer";
    ints.positive = int 1 9223372036854775807 "positive integer";
    nullOr =
      type:
      type
      // {
        description = "null or (${type.description})";
        check = v: v == null || type.check v;
        merge =
          at: values:
          if all (v: v == null) values then null else type.merge at (filter (v: v != null) values);
      };
    listOf = type: {
      description = "list of (${type.description})";
      check = isList;
      merge =
        at: values: map (v: valueOf (at ++ [ "*" ]) type [ v ]) (concatLists values);
    };
    attrsOf = type: {
      description = "attribute set of (${type.description})";
      check = isAttrs;
      merge =
        at: values:
        let
          sets = concatMap push values;
          defs = name: concatMap (s: if s ? ${name} then [ s.${name} ] else [ ]) sets;
          names = filter (n: plainOf (defs n) != [ ]) (concatMap attrNames sets);
        in
        listToAttrs (
          map (name: {
            inherit name;
            value = valueOf (at ++ [ name ]) type (defs name);
          }) names
        );
    };
    submodule = module: {
      description = "submodule";
      check = v: isAttrs v || isFunction v;
      merge =
        at: values:
        evalAt at {
          inherit lib;
          name = lib.last at;
        } ([ module ] ++ map (config: { inherit config; }) values);
    };
  };

  lib = {
    inherit
      all
      attrNames
      concatLists
      concatMap
      concatStringsSep
      elem
      evalModules
      filter
      functionArgs
      head
      listToAttrs
      mapAttrs
      mkIf
      mkMerge
      mkOption
      types
      ;
    inherit (builtins)
      any
      attrValues
      elemAt
      replaceStrings
      tail
      ;
    mkDefault = mkOverride 1000;
    mkForce = mkOverride 50;
    mkEnableOption =
      what:
      mkOption {
        type = types.bool;
        default = false;
        description = "Whether to enable ${what}.";
      };
    literalExpression = text: { inherit text; };

    optional = condition: value: if condition then [ value ] else [ ];
    optionals = condition: list: if condition then list else [ ];
    optionalString = condition: s: if condition then s else "";
    optionalAttrs = condition: set: if condition then set else { };
    last = list: builtins.elemAt list (length list - 1);
    reverseList = foldl' (done: v: [ v ] ++ done) [ ];
    unique = foldl' (done: v: if elem v done then done else done ++ [ v ]) [ ];

    nameValuePair = name: value: { inherit name value; };
    genAttrs = names: f: listToAttrs (map (name: { inherit name; value = f name; }) names);
    mapAttrsToList = f: set: map (name: f name set.${name}) (attrNames set);
    mapAttrs' = f: set: listToAttrs (lib.mapAttrsToList f set);
    concatMapAttrs = f: set: foldl' (a: b: a // b) { } (lib.mapAttrsToList f set);
    filterAttrs =
      keep: set: removeAttrs set (filter (name: !keep name set.${name}) (attrNames set));
    filterAttrsRecursive =
      keep: set:
      mapAttrs (_: v: if isAttrs v then lib.filterAttrsRecursive keep v else v) (
        lib.filterAttrs keep set
      );

    stringToCharacters =
      s: builtins.genList (i: builtins.substring i 1 s) (builtins.stringLength s);
    hasPrefix = front: s: builtins.substring 0 (builtins.stringLength front) s == front;
    hasSuffix =
      end: s:
      let
        n = builtins.stringLength s - builtins.stringLength end;
      in
      n >= 0 && builtins.substring n (-1) s == end;
    # The stand-ins of nixpkgs have one output each.
    getLib = package: package;
    hasInfix = part: s: builtins.replaceStrings [ part ] [ "" ] s != s;
    splitString = sep: s: filter isString (builtins.split (lib.literal sep) s);
    literal = builtins.replaceStrings [ "." ] [ "\\." ];
    strings.sanitizeDerivationName = builtins.replaceStrings [ "@" "\\" ] [ "-" "-" ];
    fileContents = file: builtins.replaceStrings [ "\n" ] [ "" ] (builtins.readFile file);

    fileset = {
      toSource = { root, fileset }: { inherit fileset; root = toString root; };
      unions = map toString;
    };
    platforms.linux = [ "x86_64-linux" ];
  };
in
lib
