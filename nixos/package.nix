# The four programs: `countersign` for everybody's PATH, the daemons for the
# service manager alone.
#
# ./vendor-hash is the hash of what `go mod vendor` gives; after a change of
# go.mod, `go test ./tests/nix -run VendorHash -update` writes it anew. It needs
# the modules and no Nix store.
{
  lib,
  buildGoModule,
  # The release of Go that go.mod asks for, where this nixpkgs has it by name.
  buildGo126Module ? buildGoModule,
}:
buildGo126Module {
  pname = "countersign";
  version = "0.1.0";

  src = lib.fileset.toSource {
    root = ../.;
    fileset = lib.fileset.unions [
      ../cmd
      ../docs
      ../internal
      ../go.mod
      ../go.sum
    ];
  };
  vendorHash = lib.fileContents ./vendor-hash;

  subPackages = [
    "cmd/countersign"
    "cmd/keeper"
    "cmd/reader"
    "cmd/scribe"
  ];
  env.CGO_ENABLED = 0;
  # The tests want root, users and filesystems of their own, which a build has
  # not; the programs' own packages have none.
  doCheck = false;

  postInstall = ''
    mkdir -p "$out/libexec/countersign" "$out/share/doc/countersign"
    mv "$out/bin/keeper" "$out/bin/reader" "$out/bin/scribe" "$out/libexec/countersign/"
    cp docs/*.md "$out/share/doc/countersign/"
    install -Dm644 docs/man/countersign.1 "$out/share/man/man1/countersign.1"
    install -Dm644 docs/completion/countersign.bash "$out/share/bash-completion/completions/countersign"
    install -Dm644 docs/completion/_countersign "$out/share/zsh/site-functions/_countersign"
    install -Dm644 docs/completion/countersign.fish "$out/share/fish/vendor_completions.d/countersign.fish"
  '';

  meta = {
    description = "Lets agents propose changes to files, and never make them";
    mainProgram = "countersign";
    platforms = lib.platforms.linux;
  };
}
