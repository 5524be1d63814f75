# A machine with two persons and an agent, on which an action goes the whole
# road, and what must not be reached is not. For pkgs.testers.runNixOSTest.
{
  name = "countersign";

  nodes.machine = {
    imports = [ ./module.nix ];

    users.users.alice = {
      isNormalUser = true;
      uid = 1000;
    };
    # A name that a unit has to escape, and a home that is not under /home.
    users.users.bob-b = {
      isNormalUser = true;
      uid = 1001;
      home = "/srv/people/bob b";
    };
    # Open to walk through, whatever made it for the home beneath.
    systemd.tmpfiles.rules = [ "d /srv/people 0755 root root -" ];

    services.countersign = {
      enable = true;
      persons.alice = {
        read = [ { root = "~"; } ];
        write = [ { root = "~"; } ];
      };
      persons.bob-b = {
        read = [ { root = "~"; } ];
        write = [ { root = "~"; } ];
      };
      agents.claude = {
        uid = 970;
        persons = [
          "alice"
          "bob-b"
        ];
      };
      policy.homes = "/";
      policy.decide.file-write = "ask";
    };
  };

  testScript = ''
    import json
    import shlex

    HOMES = {"alice": "/home/alice", "bob-b": "/srv/people/bob b"}


    def run(user, command, ok=(0,)):
        status, out = machine.execute(f"runuser -u {user} -- sh -c {shlex.quote(command)} 2>&1")
        assert status in ok, f"{user}: {command}: {status}\n{out}"
        return out


    def propose(path, text):
        change = {"path": path, "write": {"text": text}}
        proposal = {"sentence": "A test.", "action": {"file-write": {"changes": [change]}}}
        said = f"printf %s {shlex.quote(json.dumps(proposal))} | countersign propose --json -"
        return json.loads(run("claude", said, ok=(4,)))


    machine.wait_for_unit("countersign.target")
    machine.wait_for_unit("countersign-keeper.service")

    for person, home in HOMES.items():
        with subtest(f"propose, approve, land, undo for {person}"):
            path = home + "/note.txt"
            waiting = propose(path, "hello\n")
            machine.fail(f"test -e {shlex.quote(path)}")
            run("claude", f"countersign approve {waiting['id']}@{waiting['prefix']}", ok=(3,))
            run(person, f"countersign approve {waiting['id']}@{waiting['prefix']}")
            content = machine.succeed(f"cat {shlex.quote(path)}")
            assert content == "hello\n", content
            run(person, f"countersign undo --yes {waiting['id']}")
            machine.fail(f"test -e {shlex.quote(path)}")

    with subtest("no socket of a scribe's is reached but by the keeper"):
        for user in ["claude", "alice", "bob-b"]:
            run(user, "ls /run/countersign/scribes", ok=(2,))

    with subtest("the keeper's restart loses nothing that waits"):
        waiting = propose("/home/alice/later.txt", "later\n")
        machine.succeed("systemctl restart countersign-keeper.service")
        assert waiting["id"] in run("alice", "countersign pending")
        run("alice", f"countersign approve {waiting['id']}@{waiting['prefix']}")

    with subtest("the policy is a file of root's"):
        owner = machine.succeed("stat -c '%U %a %F' /etc/countersign/policy.toml").strip()
        assert owner == "root 644 regular file", owner

    with subtest("the walls of the units"):
        limits = {"keeper": 4, "reader@alice": 5, "scribe@alice": 5}
        for unit, limit in limits.items():
            machine.succeed(f"systemd-analyze security --threshold={limit} countersign-{unit}.service")
  '';
}
