package accounts

import (
	"context"
	"fmt"
	"os"
	"slices"
)

// StrongGroup is a group whose members an agent cannot be among.
type StrongGroup struct{ Name, Why string }

// StrongGroups lists the groups that are as good as root, or that undo the
// separation, by their names on Debian, NixOS and what is common beside them.
// Not on it are groups that let their members see much and change nothing,
// such as adm and systemd-journal, or use one device, such as kvm and video.
func StrongGroups() []StrongGroup {
	const runsAnything = "its members may run anything as root"
	const startsContainers = "its members can start a container that has the whole disk"
	return []StrongGroup{
		{"root", "root's own files are open to it"},
		{"sudo", runsAnything},
		{"wheel", runsAnything},
		{"admin", runsAnything},
		{"docker", startsContainers},
		{"podman", startsContainers},
		{"lxd", startsContainers},
		{"microk8s", startsContainers},
		{"incus", startsContainers},
		{"incus-admin", startsContainers},
		{"libvirt", "its members can start a machine that has the whole disk"},
		{"libvirtd", "its members can start a machine that has the whole disk"},
		{"tty", "its members write on everybody's terminal, over what an owner is shown"},
		{"disk", "its members read and write whole disks, past every permission"},
		{"kmem", "its members reach the kernel's memory"},
		{"shadow", "its members read everybody's password hashes"},
		{"staff", "its members write programs that root runs from /usr/local"},
		{keeperGroup, "its members reach the directory of the scribes"},
		{PeopleGroup, "its members are persons, who decide"},
	}
}

// harmless refuses an agent that separation would not hold: one that is in a
// strong group, or that is the keeper.
func (c *Config) harmless(ctx context.Context, agent account) error {
	keeper, err := c.account(ctx, KeeperUser)
	if err != nil {
		return err
	}
	if agent.uid == keeper.uid {
		return &Refused{What: "agent " + agent.name, Why: "its user is the keeper's", Fix: "give the agent a user of its own"}
	}
	strong := StrongGroups()
	for _, g := range agent.groups {
		i := slices.IndexFunc(strong, func(s StrongGroup) bool { return s.Name == g.name })
		if g.gid == 0 {
			i = 0
		}
		if i >= 0 {
			return &Refused{What: "agent " + agent.name, Why: fmt.Sprintf("it is in the group %s: %s", strong[i].Name, strong[i].Why),
				Fix: fmt.Sprintf("take it out, such as with gpasswd -d %s %s", agent.name, strong[i].Name)}
		}
	}
	return nil
}

// outside refuses an agent that could enter a home, with the groups it has and
// those that it is to be given.
func (c *Config) outside(agent account, more []uint32, home string) error {
	how, err := reach(agent.uid, append(agent.gids(), more...), home)
	if err != nil || how == "" {
		return err
	}
	mode := ""
	if info, err := os.Stat(home); err == nil {
		mode = fmt.Sprintf(" (its mode is %04o)", info.Mode().Perm())
	}
	return &Refused{What: "agent " + agent.name, Why: how + mode,
		Fix: "close it to the agent first, by mode, access control list or group, such as with chmod go-rwx"}
}
