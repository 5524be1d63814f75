package protocol

// GitStatus says which git a reader or scribe runs, behind which walls, or why
// it runs none.
type GitStatus struct {
	Path    string   `cbor:"path" json:"path"`
	Version string   `cbor:"version" json:"version"`
	Walls   []string `cbor:"walls" json:"walls"`
	Why     string   `cbor:"why,omitempty" json:"why,omitempty"`
}
