# What is wrong with services.countersign, one sentence each, before anything is
# built. The parser of the policy finds most of it too, while the system is
# built; it is said here as well where the options can name it in the words of
# the configuration. What only the system's users tell (groups, modes of homes)
# is found here alone.
{ lib, config }:
let
  inherit (lib) optional optionals concatMap;
  cfg = config.services.countersign;
  users = config.users.users;
  groups = config.users.groups;
  personNames = lib.attrNames cfg.persons;
  agentNames = lib.attrNames cfg.agents;

  # Groups that are as good as root, or that undo the separation.
  strong = [
    "root"
    "wheel"
    "sudo"
    "admin"
    "docker"
    "podman"
    "lxd"
    "microk8s"
    "incus"
    "incus-admin"
    "libvirt"
    "libvirtd"
    "tty"
    "disk"
    "kmem"
    "shadow"
    "staff"
    "countersign-keeper"
    "countersign-people"
  ];

  groupsOf =
    name:
    optionals (users ? ${name}) ([ users.${name}.group ] ++ users.${name}.extraGroups)
    ++ lib.filter (group: lib.elem name (groups.${group}.members or [ ])) (lib.attrNames groups);

  names =
    kind: list:
    concatMap (
      name:
      optional (builtins.match "[a-z_][a-z0-9_-]{0,31}" name == null)
        "${kind}.${name}: a name begins with a small letter or _, goes on with those, digits and -, and has at most 32 characters"
      ++ optional (name == "countersign-keeper") "${kind}.${name}: this is the keeper's user"
    ) list;

  uid =
    at: value:
    optional (value == 0) "${at}.uid: root is neither a person nor an agent"
    ++ optional (lib.elem value [
      65534
      4294967295
    ]) "${at}.uid: ${toString value} stands for users that have no uid";

  # The user that the system has of this name is the one that is meant.
  sameUser =
    at: name: value:
    let
      has = users.${name}.uid or null;
    in
    optional (
      value != null && has != null && has != value
    ) "${at}.uid: it is ${toString value}, and users.users.${name} has ${toString has}";

  person =
    name:
    let
      at = "persons.${name}";
      p = cfg.persons.${name};
      # Links cannot be seen from here; a path that is no real one by its
      # spelling can. What the service manager's lists cannot hold is refused.
      spelled =
        builtins.match "/[^:[:cntrl:]]*[^:/[:cntrl:]]" p.home != null
        && lib.all (part: !lib.elem part [ "" "." ".." ]) (lib.tail (lib.splitString "/" p.home));
      unknown = lib.filter (o: !lib.elem o personNames) (if p.owners == null then [ ] else p.owners);
    in
    (
      if p.uid == null then
        [ "${at}.uid: users.users.${name} has no uid of its own; give it one, as the policy names it" ]
      else
        uid at p.uid ++ sameUser at name p.uid
    )
    ++ optional (!spelled) "${at}.home: \"${p.home}\" is no path of a home; it is absolute, without ., .., //, a colon or a control character"
    ++ optional (p.owners == [ ]) "${at}.owners: it names nobody, so what asks could never be decided"
    ++ map (
      o:
      "${at}.owners: "
      + (if lib.elem o agentNames then "${o} is an agent, and an agent never decides" else "there is no person ${o}")
    ) unknown
    ++ optional (p.write != [ ] && p.read == [ ]) "${at}.write: no read grant covers any of it, and a write needs both"
    ++ optional (lib.elem name agentNames) "${at}: an agent has this name";

  within = outer: inner: lib.hasPrefix "${outer}/" "${inner}/";
  homes = lib.concatLists (
    lib.mapAttrsToList (
      name: p:
      let
        beneath = if cfg.policy.homes == null then "/home" else cfg.policy.homes;
      in
      optional (
        beneath != "/" && (p.home == beneath || !within beneath p.home)
      ) "persons.${name}.home: ${p.home} does not lie beneath policy.homes, which is ${beneath}"
      ++ concatMap (
        other:
        optional (
          other != name && within cfg.persons.${other}.home p.home
        ) "persons.${name}.home: it is, or lies in, the home of ${other}"
      ) personNames
    ) cfg.persons
  );

  trusted = config.nix.settings.trusted-users or [ ];

  agent =
    name:
    let
      at = "agents.${name}";
      a = cfg.agents.${name};
      mine = groupsOf name;
      powers = lib.unique (lib.filter (group: lib.elem group strong) mine);
      trustedBy = lib.filter (t: t == "*" || t == name || lib.any (g: t == "@${g}") mine) trusted;
    in
    uid at a.uid
    ++ sameUser at name a.uid
    ++ optional (!users ? ${name}) "${at}.createUser: it is false, and users.users has no ${name}"
    ++ optional (a.persons == [ ]) "${at}.persons: it names no person, so the agent could do nothing"
    ++ map (p: "${at}.persons: there is no person ${p}") (
      lib.filter (p: !lib.elem p personNames) a.persons
    )
    ++ map (group: "${at}: it is in the group ${group}, whose members no separation holds") powers
    ++ map (t: "${at}: nix.settings.trusted-users has ${t}, which is as good as root") trustedBy
    ++ concatMap (enters name mine) personNames;

  # A home that the agent could enter is one that no policy holds it out of.
  enters =
    name: mine: person:
    let
      user = users.${person} or { };
      digits = lib.reverseList (lib.stringToCharacters (user.homeMode or "700"));
      opens = digit: lib.elem digit [ "1" "3" "5" "7" ];
      byGroup = opens (lib.elemAt digits 1) && lib.elem (user.group or null) mine;
    in
    optional (
      opens (lib.head digits) || byGroup
    ) "agents.${name}: it could enter the home of ${person}, as users.users.${person}.homeMode is ${user.homeMode}";

  # Users that the kernel could not tell apart.
  uids =
    let
      all =
        lib.mapAttrsToList (name: p: { at = "persons.${name}"; inherit (p) uid; }) cfg.persons
        ++ lib.mapAttrsToList (name: a: { at = "agents.${name}"; inherit (a) uid; }) cfg.agents;
      twice = lib.filter (x: x.uid != null && lib.any (y: y.uid == x.uid && y.at != x.at) all) all;
    in
    map (x: "${x.at}.uid: ${toString x.uid} is another's too, so the kernel could not tell them apart") twice;

  unseparated = cfg.policy.consent.unseparated == true;
in
optional (personNames == [ ]) "persons: a policy names at least one person"
++ names "persons" personNames
++ names "agents" agentNames
++ concatMap person personNames
++ concatMap agent agentNames
++ homes
++ optionals (!unseparated) uids
