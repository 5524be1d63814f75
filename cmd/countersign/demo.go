package main

import (
	"fmt"
	"os"

	"countersign/internal/demo"
)

type demoCmd struct {
	Yes  bool `help:"Approve in the owner's place."`
	Keep bool `help:"Leave the directory behind."`
}

func (c *demoCmd) Run(s *session) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	return demo.Run(s.ctx, demo.Config{
		Self: self, Yes: c.Yes, Keep: c.Keep, In: os.Stdin, Out: os.Stdout, Colour: s.out.Colour,
	})
}
