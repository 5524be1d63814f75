# Adds `countersign` to nixpkgs.
final: _: { countersign = final.callPackage ./package.nix { }; }
