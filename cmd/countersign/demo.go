package main

type demoCmd struct {
	Yes  bool `help:"Approve in the owner's place."`
	Keep bool `help:"Leave the directory behind."`
}

func (c *demoCmd) Run(s *session) error { return nil }
