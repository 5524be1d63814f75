package policy

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// parseSize reads a number of bytes with its unit: "64KiB".
func parseSize(s string) (int64, error) {
	for _, u := range []struct {
		suffix string
		bytes  int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40}, {"B", 1}} {
		if digits, ok := strings.CutSuffix(s, u.suffix); ok {
			return scaled(digits, u.bytes)
		}
	}
	return 0, errors.New("a size is a whole number and one of B, KiB, MiB, GiB, TiB")
}

// parseAge reads a time with its unit: "30d". A day has 24 hours.
func parseAge(s string) (time.Duration, error) {
	for _, u := range []struct {
		suffix string
		time   time.Duration
	}{{"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}} {
		if digits, ok := strings.CutSuffix(s, u.suffix); ok {
			n, err := scaled(digits, int64(u.time))
			return time.Duration(n), err
		}
	}
	return 0, errors.New("a time is a whole number and one of s, m, h, d")
}

// scaled reads decimal digits, without sign or leading zero, times a unit. The
// result is positive.
func scaled(digits string, unit int64) (int64, error) {
	if digits == "" || digits[0] == '0' || strings.Trim(digits, "0123456789") != "" {
		return 0, errors.New("it must be a whole number above zero and a unit")
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt64/unit {
		return 0, errors.New("it is too large")
	}
	return n * unit, nil
}

// parseUmask reads three octal digits, with or without a zero before them.
func parseUmask(s string) (uint32, error) {
	n, err := strconv.ParseUint(s, 8, 32)
	if err != nil || len(s) < 3 || len(s) > 4 || n > 0o777 || strings.Trim(s, "01234567") != "" {
		return 0, errors.New(`a umask is three octal digits, such as "022"`)
	}
	if n&0o700 != 0 {
		return 0, fmt.Errorf("umask %s would take the person's own rights from new files", s)
	}
	return uint32(n), nil
}

// CheckName says why s cannot be a person's or an agent's name; nil where it
// can.
func CheckName(s string) error {
	ok := len(s) > 0 && len(s) <= 32
	for i, c := range []byte(s) {
		first := 'a' <= c && c <= 'z' || c == '_'
		ok = ok && (first || i > 0 && ('0' <= c && c <= '9' || c == '-'))
	}
	if !ok {
		return errors.New("a name begins with a small letter or _, goes on with those, digits and -, and has at most 32 characters")
	}
	return nil
}
