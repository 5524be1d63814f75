# Machines by name, as an administrator would write them. Those that begin with
# "bad-" are refused; machine_test.go says with which words.
let
  own = [ { root = "~"; } ];
  alice = {
    users.users.alice = {
      isNormalUser = true;
      uid = 1000;
    };
    services.countersign = {
      enable = true;
      persons.alice = {
        read = own;
        write = own;
      };
      agents.claude = {
        uid = 970;
        persons = [ "alice" ];
      };
    };
  };
  # alice's machine, and what more is set.
  and = more: { imports = [ alice more ]; };
  policy = more: and { services.countersign.policy = more; };
  agent = more: and { services.countersign.agents.other = { uid = 971; persons = [ "alice" ]; } // more; };
  person = more: and { services.countersign.persons.alice = more; };
in
{
  default = alice;

  off = {
    services.countersign.persons.alice.home = "/home/alice";
  };

  # The example of docs/policy.md, and every other key.
  everything = and {
    services.countersign = {
      persons.alice = {
        owners = [ "alice" ];
        umask = "027";
        read = [
          {
            root = "~/notes";
            include = [ "**/*.md" ];
          }
        ];
        write = [
          {
            root = "~/projects";
            ignore = [ "dist/**" ];
            follow_links = false;
            cross_mounts = false;
            max_file_size = "8MiB";
          }
        ];
      };
      policy = {
        homes = "/home";
        filesystem = {
          snapshot_roots = [ "~" ];
          deny_except = [ "env" ];
        };
        decide = {
          file-write = "auto";
          file-delete = "auto";
          git-commit = "auto";
          git-discard = "ask";
          ask = [
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
        };
        classify = {
          also = [ "build-files" ];
          except = [ "nix-shell" ];
          entry = [
            {
              name = "deploy";
              reason = "runs-later";
              patterns = [ "**/deploy/**" ];
            }
          ];
        };
        consent = {
          expire = "24h";
          pending_per_agent = 200;
          unseparated = false;
        };
        limits = {
          asked_text = "64KiB";
          auto_bytes = "8MiB";
          large = "256KiB";
        };
        keep = {
          captures = "30d";
          size = "5GiB";
        };
      };
    };
  };

  # Homes that are not under /home, and names that a unit or a path has to
  # escape.
  unusual = {
    users.users.anna-maria = {
      isNormalUser = true;
      uid = 1500;
      home = "/srv/people/anna maria";
    };
    users.users._b-2 = {
      isNormalUser = true;
      uid = 1501;
      home = "/var/lib/100%/\"b\\2\"";
    };
    # One that the system's configuration does not make, as from a directory.
    services.countersign = {
      enable = true;
      persons.anna-maria = {
        read = own;
        write = [ { root = "~/a b"; } ];
        owners = [ "anna-maria" "_b-2" ];
      };
      persons._b-2.read = own;
      persons.elsewhere = {
        uid = 200000;
        home = "/export/people/elsewhere";
        read = own;
      };
      agents.claude = {
        uid = 970;
        persons = [ "anna-maria" "_b-2" "elsewhere" ];
      };
      policy.homes = "/";
    };
  };

  # An agent whose user the system makes itself.
  given-agent = and {
    users.users.robot = {
      isNormalUser = true;
      uid = 1600;
    };
    services.countersign.agents.robot = {
      uid = 1600;
      persons = [ "alice" ];
      createUser = false;
    };
  };

  bad-option = policy { keeps = { }; };
  bad-verdict = policy { decide.file-write = "yes"; };
  bad-reason = policy { decide.ask = [ "runs-late" ]; };
  bad-size = policy { limits.large = "lots"; };
  bad-age = policy { keep.captures = "1 week"; };
  bad-number = policy { consent.pending_per_agent = 0; };
  bad-umask = person { umask = "9"; };
  bad-root = person { write = [ { root = "projects"; } ]; };
  bad-grant = person { write = [ { rot = "~"; } ]; };
  bad-owner = person { owners = [ "carol" ]; };
  bad-owner-agent = person { owners = [ "claude" ]; };
  bad-owners = person { owners = [ ]; };
  bad-homes = policy { homes = "/export"; };
  bad-home = person { home = "/home/alice/../bob"; };
  bad-home-colon = person { home = "/home/a:b"; };
  bad-uid = person { uid = 1001; };
  bad-no-uid = and {
    users.users.bob.isNormalUser = true;
    services.countersign.persons.bob.read = own;
  };
  bad-nested = and {
    services.countersign.persons.bob = {
      uid = 1001;
      home = "/home/alice/bob";
      read = own;
    };
  };
  bad-write-alone = and {
    services.countersign.persons.bob = {
      uid = 1001;
      home = "/home/bob";
      write = own;
    };
  };
  bad-name = and {
    services.countersign.persons.Bob = {
      uid = 1001;
      home = "/home/Bob";
      read = own;
    };
  };
  bad-keeper = and {
    services.countersign.agents.countersign-keeper = {
      uid = 971;
      persons = [ "alice" ];
      createUser = false;
    };
  };
  bad-nobody = {
    services.countersign.enable = true;
  };
  bad-agent-person = agent { persons = [ "carol" ]; };
  bad-agent-idle = agent { persons = [ ]; };
  bad-agent-root = agent { uid = 0; };
  bad-agent-overflow = agent { uid = 65534; };
  bad-agent-shares = agent { uid = 970; };
  bad-agent-is-person = agent { uid = 1000; };
  bad-agent-absent = agent { createUser = false; };
  bad-agent-both = and {
    services.countersign.agents.alice = {
      uid = 971;
      persons = [ "alice" ];
      createUser = false;
    };
  };
  bad-agent-wheel = and { users.users.claude.extraGroups = [ "wheel" ]; };
  bad-agent-member = and { users.groups.docker.members = [ "claude" ]; };
  bad-agent-trusted = and { nix.settings.trusted-users = [ "@countersign-agents" ]; };
  bad-agent-enters = and { users.users.alice.homeMode = "711"; };
  bad-agent-enters-by-group = and {
    users.users.alice.homeMode = "750";
    users.users.claude.extraGroups = [ "users" ];
  };
}
