# The NixOS module: `services.countersign`.
#
# It promises what a package and `countersign person add` do elsewhere: users
# and groups, a policy that was checked before the system was built, and the
# units of `units/`, word for word but for the paths of the programs. Adding or
# removing a person or an agent is one line and a switch; the keeper goes on.
#
# It does NOT see what is decided after the system is built: an access control
# list on a home, a directory somebody opens.
{
  config,
  lib,
  pkgs,
  ...
}:
let
  inherit (lib) mkOption types;
  cfg = config.services.countersign;

  policy = import ./policy.nix { inherit lib; };
  problems = import ./problems.nix { inherit lib config; };
  units = import ./units.nix {
    inherit lib;
    inherit (cfg) package persons;
    git = {
      program = "${pkgs.gitMinimal}/bin/git";
      needs = map (package: "${lib.getLib package}/lib") [
        pkgs.glibc
        pkgs.zlib
        pkgs.pcre2
      ];
    };
  };

  # One directory of everything for the service manager, in the places where
  # systemd.packages and systemd.tmpfiles.packages look.
  unitPackage = pkgs.linkFarm "countersign-units" (
    lib.mapAttrs (
      path: text: pkgs.writeText (lib.strings.sanitizeDerivationName (baseNameOf path)) text
    ) units.files
  );

  # The policy that every daemon reads. Its own parser has the last word on it,
  # while the system is built; where what is built here cannot run here, that of
  # the same sources for this machine.
  policyFile =
    let
      written = (pkgs.formats.toml { }).generate "countersign-policy-unchecked.toml" (
        policy.settings cfg
      );
      checker =
        if pkgs.stdenv.buildPlatform.canExecute pkgs.stdenv.hostPlatform then
          cfg.package
        else
          pkgs.buildPackages.callPackage ./package.nix { };
    in
    # Copied first: a file of the store belongs to a user that the build does
    # not have, and a policy of a stranger's is refused.
    pkgs.runCommand "countersign-policy.toml" { inherit written; } ''
      install -m 0644 "$written" "$out"
      ${checker}/bin/countersign policy check "$out"
    '';
in
{
  options.services.countersign = policy.options config // {
    enable = lib.mkEnableOption "Countersign, which lets agents propose changes to files and never make them";
    package = mkOption {
      type = types.package;
      default = pkgs.callPackage ./package.nix { };
      defaultText = lib.literalExpression "the package of this flake";
      description = "The package with the four programs.";
    };
  };

  config = lib.mkIf cfg.enable {
    assertions = map (message: {
      assertion = false;
      message = "services.countersign: ${message}";
    }) problems;

    environment.systemPackages = [ cfg.package ];

    # With a mode it is a file and not a link, as a policy has to be, and a
    # switch puts a new one in its place in one step. The units do not name its
    # content, so that a new policy restarts nothing from outside: each daemon
    # sees it, finishes what it has, and starts anew behind its open socket.
    environment.etc."countersign/policy.toml" = {
      source = policyFile;
      mode = "0644";
    };

    systemd.packages = [ unitPackage ];
    systemd.tmpfiles.packages = [ unitPackage ];
    # NixOS does not read [Install]: the target wants what the units' own
    # sections say.
    systemd.targets.countersign = {
      wantedBy = [ "multi-user.target" ];
      wants = units.wanted;
    };
    systemd.user.services.countersign-notify.wantedBy = [ "graphical-session.target" ];

    users.groups = {
      countersign-keeper = { };
      countersign-agents.members = lib.attrNames cfg.agents;
      countersign-people.members = lib.attrNames cfg.persons;
    };
    users.users = {
      countersign-keeper = {
        isSystemUser = true;
        description = "Countersign keeper";
        group = "countersign-keeper";
        # It calls the readers, whose sockets are the agents'.
        extraGroups = [ "countersign-agents" ];
        home = "/var/lib/countersign";
      };
    }
    // lib.mapAttrs (name: agent: {
      inherit (agent) uid;
      isSystemUser = true;
      description = "Agent of Countersign";
      group = "countersign-agents";
    }) (lib.filterAttrs (_: agent: agent.createUser) cfg.agents);
  };
}
