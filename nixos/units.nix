# The files for the service manager, made of those in units/: the same text, but
# for the paths of the programs, which lie in the store here.
{
  lib,
  package,
  persons,
  # The git that reader and scribe run, and what its loader opens to run it.
  git,
}:
let
  source = ../units;

  moved = {
    "/usr/bin/countersign" = "${package}/bin/countersign";
    "/usr/libexec/countersign" = "${package}/libexec/countersign";
    "/usr/share/doc/countersign" = "${package}/share/doc/countersign";
  };
  here =
    name:
    let
      text = lib.replaceStrings (lib.attrNames moved) (lib.attrValues moved) (
        builtins.readFile (source + "/${name}")
      );
    in
    if lib.hasInfix "/usr/" (lib.replaceStrings git'.elsewhere (map (_: "") git'.elsewhere) text) then
      throw "units/${name} names a path beneath /usr that nixos/units.nix does not know"
    else
      text;

  # Where git lies on other systems: a unit passes over what is not there. Here it
  # is bound to the place where a daemon looks for it, with its store paths.
  git' = {
    elsewhere = [
      "/usr/bin/git"
      "/usr/lib/x86_64-linux-gnu"
      "/usr/lib/aarch64-linux-gnu"
    ];
    dropIn = ''
      [Service]
      BindReadOnlyPaths=${git.program}:/usr/bin/git
      BindReadOnlyPaths=${lib.concatStringsSep " " git.needs}
      ExecPaths=+/usr/bin/git ${lib.concatStringsSep " " (map (path: "+${path}") git.needs)}
    '';
  };

  isUnit = name: builtins.match ".*\\.(service|socket|target|timer|path)" name != null;
  all = lib.filter isUnit (lib.attrNames (builtins.readDir source));
  # What owners' own service managers run, and what the system's does.
  user = [ "countersign-notify.service" ];
  units = lib.filter (name: !lib.elem name user) all;
  isTemplate = lib.hasInfix "@.";

  # A person's instance of a template, named as systemd-escape names it: of
  # what a name may hold, only - means something else in the name of a unit.
  instance =
    template: name:
    lib.replaceStrings [ "@" ] [ "@${lib.replaceStrings [ "-" ] [ "\\x2d" ] name}" ] template;

  # A path in a list of paths of a unit's: quoted, with %, which begins a
  # specifier, doubled.
  listed = path: "\"${lib.replaceStrings [ "\\" "\"" "%" ] [ "\\\\" "\\\"" "%%" ] path}\"";

  # What a service of one person's sees of the homes: theirs, by its real path,
  # read-only for the reader, and nothing in it is run. The + stands for the
  # service's own root directory.
  home =
    let
      bound = how: path: ''
        [Service]
        ${how}=${listed path}
        NoExecPaths=${listed "+${path}"}
      '';
    in
    {
      "countersign-reader@.service" = bound "BindReadOnlyPaths";
      "countersign-scribe@.service" = bound "BindPaths";
    };

  # A switch restarts a service that changed in one step, and leaves its socket
  # open: callers wait for it instead of being refused.
  restart = ''
    [Service]
    X-StopIfChanged=false
  '';

  # An instance is a file of its own, though it has the template's text: a
  # switch stops what has no file any more, and that is how a person goes.
  instances = lib.concatMapAttrs (
    person: settings:
    lib.concatMapAttrs (
      template: text:
      {
        ${instance template person} = text;
      }
      // lib.optionalAttrs (home ? ${template}) {
        "${instance template person}.d/home.conf" = home.${template} settings.home;
        "${instance template person}.d/git.conf" = git'.dropIn;
      }
    ) (lib.filterAttrs (name: _: isTemplate name) plain)
  ) persons;

  plain = lib.genAttrs units here;
  system = plain // instances;
  services = lib.filter (name: lib.hasSuffix ".service" name && !isTemplate name) (
    lib.attrNames system
  );
  restarts = lib.genAttrs (map (name: "${name}.d/nixos.conf") services) (_: restart);
in
{
  # By path in a package; the text of each.
  files =
    lib.mapAttrs' (name: lib.nameValuePair "lib/systemd/system/${name}") (system // restarts)
    // lib.mapAttrs' (name: lib.nameValuePair "lib/systemd/user/${name}") (lib.genAttrs user here)
    // {
      "lib/tmpfiles.d/countersign.conf" = here "tmpfiles.conf";
    };

  # What countersign.target wants, templates by their instances.
  wanted =
    lib.concatMap (
      name:
      if !lib.hasInfix "\nWantedBy=countersign.target\n" plain.${name} then
        [ ]
      else if isTemplate name then
        map (instance name) (lib.attrNames persons)
      else
        [ name ]
    ) units;
}
