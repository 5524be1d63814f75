package main

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"countersign/internal/notify"
	"countersign/internal/protocol"
	"countersign/internal/wire/client"
)

type notifyCmd struct{}

// Run tells the owner's desktop, over one kept connection to the keeper and one
// to the session's bus, until it is asked to end.
func (*notifyCmd) Run(s *session) error {
	address, err := notify.Address(os.Getenv)
	if err != nil {
		return err
	}
	bus, err := notify.Connect(s.ctx, address)
	if s.ctx.Err() != nil {
		return nil
	} else if err != nil {
		return err
	}
	defer bus.End()
	const within = 10 * time.Second
	keeper := client.NewPool(client.Config{Path: filepath.Join(s.run, "keeper", owner+".sock"), Timeout: within}, 1)
	defer keeper.Close()
	return notify.Run(s.ctx, notify.Config{
		Desk: bus, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)).With("process", "notify"),
		Pending: func(ctx context.Context) (list protocol.ListResult, err error) {
			err = keeper.Call(ctx, protocol.Pending, none{}, &list)
			return list, err
		},
	})
}
