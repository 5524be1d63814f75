// Package accounts adds persons and agents to an installed Countersign, and
// takes them away again: their tables of the policy, the groups of their
// users, and the units of their reader and scribe.
//
// It is run by root on a machine of systemd's, by hand. Users and homes are
// looked up once, here, and stored in the policy; the daemons never ask a
// directory service. Everything is looked up, decided and checked before the
// first change: the policy as it would be must be one that the daemons read,
// and an agent that could enter a home of the policy, or that is in a group as
// good as root, is refused.
//
// The policy stays its owner's file: every byte that does not speak of who is
// added or removed keeps its place, comments too. A removal cuts whole tables
// and items of lists, found by the decoder's own parser; what it could not cut
// exactly is refused, and what was cut is checked by reading both files again.
//
// An addition is undone where a step of it fails. Its steps are, in order:
//
//	gpasswd -a USER GROUP                            per group that is lacking
//	write home.conf twice, systemctl daemon-reload   persons
//	create, write, fsync, rename, fsync              the policy
//	systemctl enable --now two sockets               persons
//
// One of these commands runs at a time, by a lock on /etc. Killed before the
// policy's rename it can be called again; killed behind it, the
// person is removed and added. A removal takes the authority away first: the
// policy is replaced, and whatever else fails is named and the rest goes on,
// so that calling it again finishes it. It removes nothing of the journal, and
// leaves captures in the vault until they are as old as keep.captures says:
// they are what an undo of the person's landed actions would need once the
// person is added again.
//
// It does NOT make or remove users, stop their running processes (a group
// counts from the next login on, and every daemon looks at uids too), or see
// power given outside of groups, such as a line in sudoers for one user. Of
// the groups as good as root it knows those of a table. What an agent can
// enter is asked of the kernel as things stand now, not watched.
package accounts
