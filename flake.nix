{
  description = "Lets agents propose changes to files, and never make them";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      each =
        f:
        nixpkgs.lib.genAttrs [ "x86_64-linux" "aarch64-linux" ] (
          system:
          f (
            import nixpkgs {
              inherit system;
              overlays = [ self.overlays.default ];
            }
          )
        );
    in
    {
      overlays.default = import ./nixos/overlay.nix;
      nixosModules.default = ./nixos/module.nix;

      packages = each (pkgs: {
        default = pkgs.countersign;
      });

      # `nix flake check` builds the package, and walks the road on a machine.
      checks = each (pkgs: {
        package = pkgs.countersign;
        road = pkgs.testers.runNixOSTest ./nixos/test.nix;
      });
    };
}
