# What the repository's flake gives, over these tests' stand-in for nixpkgs.
let
  nixpkgs = {
    lib = import ./lib.nix;
    outPath = toString ./pkgs.nix;
  };
  outputs = (import ../../flake.nix).outputs {
    self = outputs;
    inherit nixpkgs;
  };
  named = builtins.mapAttrs (_: builtins.mapAttrs (_: d: d.name));
in
{
  packages = named outputs.packages;
  checks = named outputs.checks;
  overlay = builtins.attrNames (outputs.overlays.default (import ./pkgs.nix { }) { });
  machine = import ./machine.nix {
    module.imports = [
      outputs.nixosModules.default
      (import ./machines.nix).default
    ];
  };
}
