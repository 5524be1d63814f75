package policy

import (
	"countersign/internal/action"
	"countersign/internal/refusal"
)

// Same refuses a caller that holds another policy than this process: two
// processes that judge by different rules do not act together.
func (p *Policy) Same(digest action.Hash) error {
	if digest == p.Digest {
		return nil
	}
	return refusal.New(refusal.PolicyDiffers, "the call", "%s here, %s there", p.Digest.Short(), digest.Short())
}
