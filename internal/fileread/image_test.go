package fileread

import (
	"bytes"
	"context"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/internal/action"
	"countersign/internal/grant"
	"countersign/internal/protocol"
	"countersign/internal/refusal"
)

// R6: an image is what its content is, whatever its name; all its bytes come
// with their version. Anything else is refused, and so is one over the limit.
func TestReadImage(t *testing.T) {
	home := t.TempDir()
	encoded := func(encode func(*bytes.Buffer) error) []byte {
		var b bytes.Buffer
		must(t, encode(&b))
		return b.Bytes()
	}
	pixel := image.NewPaletted(image.Rect(0, 0, 1, 1), color.Palette{color.Black})
	for name, c := range map[string]struct {
		content []byte
		kind    string
	}{
		"a.txt": {encoded(func(b *bytes.Buffer) error { return png.Encode(b, pixel) }), "image/png"},
		"a.png": {encoded(func(b *bytes.Buffer) error { return jpeg.Encode(b, pixel, nil) }), "image/jpeg"},
		"noext": {encoded(func(b *bytes.Buffer) error { return gif.Encode(b, pixel, nil) }), "image/gif"},
		"lossy": {[]byte("RIFF\x24\x00\x00\x00WEBPVP8 \x18\x00\x00\x00rest"), "image/webp"},
		"extra": {[]byte("RIFF\x24\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00rest"), "image/webp"},
		"text":  {[]byte("text"), ""}, "empty.png": {nil, ""}, "wav": {[]byte("RIFF\x24\x00\x00\x00WAVEfmt \x18\x00\x00\x00"), ""},
		"svg.svg": {[]byte("<svg/>"), ""}, "cut.png": {[]byte("\x89PNG\r\n\x1a\n"), ""}, "other.png": {[]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dCgBI"), ""}, "bmp": {[]byte("BM\x00\x00"), ""},
	} {
		must(t, os.WriteFile(home+"/"+name, c.content, 0o644))
		got, err := granting(t, home, grant.Grant{Root: home}).ReadImage(context.Background(), protocol.PathParams{Path: action.Path(home + "/" + name)})
		if c.kind == "" {
			if !refusal.Is(err, refusal.NotImage) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || got.Type != c.kind || !bytes.Equal(got.Content, c.content) || got.Version.Hash != action.HashOf(c.content) {
			t.Errorf("%s: %s, %d bytes, %v", name, got.Type, len(got.Content), err)
		}
	}
	must(t, os.WriteFile(home+"/big.png", append([]byte("\xff\xd8\xff"), make([]byte, 100)...), 0o644), unix.Mkfifo(home+"/pipe.png", 0o644), os.Symlink("a.png", home+"/l.png"))
	f := granting(t, home, grant.Grant{Root: home, MaxFileSize: 102})
	for name, code := range map[string]refusal.Code{"big.png": refusal.FileTooBig, "pipe.png": refusal.NotRegular, "l.png": refusal.Link, "none.png": refusal.NotFound} {
		if _, err := f.ReadImage(context.Background(), protocol.PathParams{Path: action.Path(home + "/" + name)}); !refusal.Is(err, code) {
			t.Errorf("%s: %v, want %s", name, err, code)
		}
	}
}
