# Evaluates nixos/ for one machine and gives, for JSON, what a system would be
# built of. machine is a name in machines.nix; lib is the tests' own, or the
# directory of a real nixpkgs' lib.
{
  machine ? "",
  # Instead of a name: a module.
  module ? (import ./machines.nix).${machine},
  lib ? "",
}:
let
  ownLib = import ./lib.nix;
  theLib = if lib == "" then ownLib else import (/. + lib);

  pkgs = import ./pkgs.nix { lib = theLib; };

  inherit (theLib) types mkOption;
  plain =
    type: default:
    mkOption {
      inherit type default;
    };
  strings = plain (types.listOf types.str) [ ];

  user =
    { name, config, ... }:
    {
      options = {
        uid = plain (types.nullOr types.ints.u32) null;
        isNormalUser = plain types.bool false;
        isSystemUser = plain types.bool false;
        description = plain types.str "";
        group = plain types.str (if config.isNormalUser then "users" else "");
        home = plain types.str (if config.isNormalUser then "/home/${name}" else "/var/empty");
        homeMode = plain types.str "700";
        extraGroups = strings;
      };
    };

  # As much of NixOS as the module sets or asks for.
  system.options = {
    assertions = plain (types.listOf types.raw) [ ];
    environment.systemPackages = plain (types.listOf types.package) [ ];
    environment.etc = plain (types.attrsOf types.raw) { };
    nix.settings.trusted-users = strings;
    systemd.packages = plain (types.listOf types.package) [ ];
    systemd.tmpfiles.packages = plain (types.listOf types.package) [ ];
    systemd.tmpfiles.rules = strings;
    systemd.targets = plain (types.attrsOf types.raw) { };
    systemd.user.services = plain (types.attrsOf types.raw) { };
    users.users = plain (types.attrsOf (types.submodule user)) { };
    users.groups = plain (types.attrsOf (
      types.submodule { options.members = strings; }
    )) { };
  };

  config =
    (theLib.evalModules {
      specialArgs = { inherit pkgs; };
      modules = [
        system
        ../../nixos/module.nix
        module
      ];
    }).config;

  failed = builtins.filter (a: !a.assertion) config.assertions;
  stop = "Failed assertions:\n" + builtins.concatStringsSep "\n" (map (a: "- ${a.message}") failed);

  # The one package of units, in both places.
  units = builtins.head config.systemd.packages;
  policy = config.environment.etc."countersign/policy.toml";
  package = config.services.countersign.package;

  built = {
    inherit (config.users) users groups;
    inherit (units) files;
    tmpfiles = map (p: p.name) config.systemd.tmpfiles.packages;
    target = config.systemd.targets.countersign;
    userServices = config.systemd.user.services;
    policy = {
      inherit (policy) mode;
      inherit (policy.source) script;
      settings = policy.source.env.written.value;
    };
    package = package.args // { path = "${package}"; };
    onPath = map toString config.environment.systemPackages;
  };
  # A machine where the service is off has none of it.
  nothing = {
    inherit (config.users) users groups;
    inherit (config.environment) etc;
    inherit (config.systemd) packages targets;
    userServices = config.systemd.user.services;
  };
in
# As NixOS does before it builds.
if failed != [ ] then
  throw stop
else if config.services.countersign.enable then
  built
else
  nothing
