# The machine of the VM test, and its script.
let
  test = import ../../nixos/test.nix;
in
{
  inherit (test) name testScript;
  machine = import ./machine.nix { module = test.nodes.machine; };
}
