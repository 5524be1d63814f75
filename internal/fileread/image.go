package fileread

import (
	"bytes"
	"context"

	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// MaxImage bounds an image that is read, in bytes; a grant may allow less.
const MaxImage = 6 << 20

// ReadImage gives a whole image. What it is, its content says.
func (f Files) ReadImage(ctx context.Context, p protocol.PathParams) (protocol.ReadImageResult, error) {
	snap, err := f.whole(ctx, p.Path, MaxImage)
	if err != nil {
		return protocol.ReadImageResult{}, err
	}
	kind := imageType(snap.Content)
	if kind == "" {
		return protocol.ReadImageResult{}, refusal.New(refusal.NotImage, p.Path.String(), "")
	}
	return protocol.ReadImageResult{Policy: f.Policy, Path: p.Path, Version: snap.Version, Type: kind, Content: snap.Content}, nil
}

// imageType gives the media type of the image that content begins as; the
// empty string where it is none that is served.
func imageType(content []byte) string {
	begins := func(s string) bool { return bytes.HasPrefix(content, []byte(s)) }
	switch {
	case begins("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"):
		return "image/png"
	case begins("\xff\xd8\xff"):
		return "image/jpeg"
	case begins("GIF87a"), begins("GIF89a"):
		return "image/gif"
	case begins("RIFF") && len(content) >= 16 && string(content[8:15]) == "WEBPVP8":
		return "image/webp"
	}
	return ""
}
