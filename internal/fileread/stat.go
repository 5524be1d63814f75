package fileread

import (
	"context"
	"strings"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/beneath"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// Stat says what stands at paths, and of links where they lead. Nothing is
// opened but the directories on the way. A path that is refused is so by
// itself; the error is the call's own.
func (f Files) Stat(ctx context.Context, p protocol.StatParams) (protocol.StatResult, error) {
	res := protocol.StatResult{Policy: f.Policy}
	if err := countFiles(len(p.Paths)); err != nil {
		return res, err
	}
	for _, path := range p.Paths {
		if err := ctx.Err(); err != nil {
			return res, err
		}
		file, err := f.statOne(path)
		if err != nil {
			if file.Refusal = refusal.As(err); file.Refusal == nil {
				return res, err
			}
		}
		file.Path = path
		res.Files = append(res.Files, file)
	}
	return res, nil
}

func (f Files) statOne(path action.Path) (protocol.StatFile, error) {
	s, err := f.find(path, true)
	if err != nil {
		return protocol.StatFile{}, err
	}
	defer s.Close()
	about := f.about(&s.info, s.grant, path)
	about.Grant = s.path == s.grant.Root
	_, err = f.Finder.Grants.Judge(grant.Write, s.path)
	return protocol.StatFile{
		About: &about, UID: s.info.UID, GID: s.info.GID, Root: action.Path(s.grant.Root), Write: err == nil,
	}, nil
}

// about is what a listing tells of a file that stands at a path.
func (f Files) about(info *beneath.Info, g *grant.Grant, path action.Path) protocol.About {
	a := protocol.About{Kind: kindOf(info.Mode), Size: info.Size, Mode: info.Mode & 0o7777, Mtime: info.Mtime}
	switch a.Kind {
	case protocol.KindFile:
		if info.Links > 1 {
			a.Links = uint64(info.Links)
		}
	case protocol.KindLink:
		a.Size = 0 // the length of a target that the caller may not see
		a.Target, a.Why = f.target(g, path)
	case protocol.KindDirectory:
		if info.Mounted && !g.CrossMounts {
			a.Why = "another filesystem is mounted here, and the grant does not cross mounts"
		}
	}
	return a
}

// target gives where a link leads, as the listed grant's root spells it, or why
// nothing goes through it. Where it leads to nothing that its grant covers, no
// more is said.
func (f Files) target(g *grant.Grant, path action.Path) (action.Path, string) {
	if !g.FollowLinks {
		return "", "a symbolic link, and the grant does not follow links"
	}
	s, err := f.find(path, false)
	if err != nil {
		return "", "a symbolic link that leads to nothing that its grant covers"
	}
	defer s.Close()
	rest := strings.TrimPrefix(s.real, strings.TrimSuffix(s.root.Real, "/"))
	return action.Path(strings.TrimSuffix(g.Root, "/") + rest), ""
}

func kindOf(mode uint32) protocol.Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return protocol.KindFile
	case unix.S_IFDIR:
		return protocol.KindDirectory
	case unix.S_IFLNK:
		return protocol.KindLink
	case unix.S_IFIFO:
		return protocol.KindPipe
	case unix.S_IFSOCK:
		return protocol.KindSocket
	}
	return protocol.KindDevice
}
