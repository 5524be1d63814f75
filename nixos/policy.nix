# The policy file as options. Every key has the name it has in the file, which
# docs/policy.md describes, but that the file's other tables stand under
# `policy`. An option that is null is left out of the file, where an absent key
# has its documented default: no default is written down twice.
{ lib }:
let
  inherit (lib) mkOption types;

  text =
    pattern: description:
    types.strMatching pattern // { inherit description; };
  size = text "[1-9][0-9]*(B|KiB|MiB|GiB|TiB)" "a size, such as \"8MiB\"";
  age = text "[1-9][0-9]*[smhd]" "a time, such as \"30d\"";
  umask = text "0?[0-7]{3}" "a umask of three octal digits, such as \"022\"";
  absolute = text "/.*" "an absolute path";
  root = text "(/|~|\").*" "an absolute path, or ~ or ~/… for the person's home";
  strings = types.listOf types.str;
  verdict = types.enum [
    "auto"
    "ask"
    "deny"
  ];
  reason = types.enum [
    "data-deletion"
    "not-captured"
    "outside-snapshot"
    "runs-later"
    "credentials"
    "permissions-widened"
    "attributes-lost"
    "binary-content"
    "large"
    "others-work"
    "foreign-identity"
  ];

  key =
    type: description:
    mkOption {
      type = types.nullOr type;
      default = null;
      inherit description;
    };

  table =
    options:
    mkOption {
      type = types.submodule { inherit options; };
      default = { };
      description = "A table of the policy file.";
    };

  grant = types.submodule {
    options = {
      root = mkOption {
        type = root;
        example = "~/projects";
        description = "The directory, inside the person's own home.";
      };
      include = key strings "Patterns of the files the grant is for; null for all.";
      ignore = key strings "Patterns that walks pass over.";
      follow_links = key types.bool "Whether a link that ends inside the grant is followed.";
      cross_mounts = key types.bool "Whether a path may lead into another mounted filesystem.";
      max_file_size = key size "The largest file.";
    };
  };

  entry = types.submodule {
    options = {
      name = mkOption {
        type = types.str;
        example = "deploy";
        description = "A name that docs/classification.md does not have.";
      };
      reason = mkOption {
        type = types.enum [
          "runs-later"
          "credentials"
        ];
        description = "The reason it gives.";
      };
      patterns = mkOption {
        type = strings;
        example = [ "**/deploy/**" ];
        description = "Places, which begin with ~/ or **/.";
      };
    };
  };

  grants =
    description:
    mkOption {
      type = types.listOf grant;
      default = [ ];
      example = [ { root = "~/projects"; } ];
      inherit description;
    };

  person =
    config:
    { name, ... }:
    let
      user = config.users.users.${name} or { };
    in
    {
      options = {
        uid = mkOption {
          type = types.nullOr types.ints.u32;
          default = user.uid or null;
          defaultText = lib.literalExpression "config.users.users.<name>.uid";
          description = "The person's uid. It has to be a fixed one.";
        };
        home = mkOption {
          type = absolute;
          default = user.home or "";
          defaultText = lib.literalExpression "config.users.users.<name>.home";
          description = "The home, by its real path: no link on the way.";
        };
        owners = key strings "Persons who decide for this home; null for the person alone.";
        umask = key umask "Of files and directories that are made.";
        read = grants "What agents may read.";
        write = grants "What agents may have changed; a read grant must cover it too.";
      };
    };

  agent.options = {
    uid = mkOption {
      type = types.ints.u32;
      example = 970;
      description = "The agent's uid.";
    };
    persons = mkOption {
      type = strings;
      description = "The persons whose readers answer it, for whom it may propose.";
    };
    createUser = mkOption {
      type = types.bool;
      default = true;
      description = ''
        Whether to make the agent's user. With false, `users.users` has one of
        this name and uid, and it joins the agents' group.
      '';
    };
  };

  # What the file does not have is not in it.
  stated = lib.filterAttrsRecursive (_: value: value != null);
  statedGrants = map stated;
in
{
  # Of services.countersign; config is the whole system's.
  options = config: {
    persons = mkOption {
      type = types.attrsOf (types.submodule (person config));
      default = { };
      description = "Users of this machine in whose homes agents may work.";
    };
    agents = mkOption {
      type = types.attrsOf (types.submodule agent);
      default = { };
      description = "Users that propose and never write.";
    };
    policy = table {
      homes = key absolute "The directory that every home lies beneath.";
      filesystem = table {
        snapshot_roots = key (types.listOf root) "A change outside them has the reason outside-snapshot.";
        deny_except = key strings "Entries taken off the deny list.";
      };
      decide = table {
        file-write = key verdict "The verdict when no reason asks.";
        file-delete = key verdict "The verdict when no reason asks.";
        git-commit = key verdict "The verdict when no reason asks.";
        git-discard = key verdict "The verdict when no reason asks.";
        ask = key (types.listOf reason) "Reasons that ask whatever the verdict.";
      };
      classify = table {
        also = key strings "Entries of docs/classification.md that count besides.";
        except = key strings "Entries of docs/classification.md that do not count.";
        entry = key (types.listOf entry) "Entries of one's own.";
      };
      consent = table {
        expire = key age "What waits longer is denied.";
        pending_per_agent = key types.ints.positive "Actions of one agent that wait at once.";
        unseparated = key types.bool "Whether agents may share a uid with a person. Leave it out.";
      };
      limits = table {
        asked_text = key size "New text of one action that an owner can be asked about.";
        auto_bytes = key size "Content of one action that lands alone; the largest file that is captured.";
        large = key size "A file whose new content is longer has the reason large.";
      };
      keep = table {
        captures = key age "How long a capture is kept.";
        size = key size "Of the vault.";
      };
    };
  };

  # The value that the file is generated from, of services.countersign.
  settings =
    cfg:
    stated cfg.policy
    // {
      version = 1;
      persons = lib.mapAttrs (
        _: p:
        stated { inherit (p) uid home owners umask; }
        // lib.mapAttrs (_: statedGrants) { inherit (p) read write; }
      ) cfg.persons;
      agents = lib.mapAttrs (_: a: { inherit (a) uid persons; }) cfg.agents;
    };
}
