package host

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// ParseRate reads the rate attribute of a port, "400 Gb/sec (4X NDR)".
func ParseRate(s string) (Rate, error) {
	number, rest, ok := strings.Cut(s, " Gb/sec")
	gbps, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || gbps < 0 || gbps > 1e6 {
		return Rate{}, notRate(s)
	}
	rate := Rate{Gbps: gbps}
	rest = strings.TrimSpace(rest)
	if rest == "" {
		return rate, nil
	}
	lanes, speed, ok := strings.Cut(strings.Trim(rest, "()"), "X ")
	if rate.Lanes, err = strconv.Atoi(lanes); !ok || err != nil {
		return Rate{}, notRate(s)
	}
	rate.Speed = strings.TrimSpace(speed)
	return rate, nil
}

func notRate(s string) error {
	return fmt.Errorf("%.60q is not of the form \"400 Gb/sec (4X NDR)\"", s)
}

func (r Rate) String() string {
	gbps := strconv.FormatFloat(r.Gbps, 'f', -1, 64)
	if r.Lanes == 0 {
		return gbps + " Gb/sec"
	}
	return fmt.Sprintf("%s Gb/sec (%dX %s)", gbps, r.Lanes, r.Speed)
}

// MarshalText writes the kernel's form.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the kernel's form.
func (r *Rate) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRate(string(text))
	return err
}

// ParseGID reads "fe80:0000:0000:0000:b83f:d2ff:fe03:1234".
func ParseGID(s string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(s)
	if err != nil || !addr.Is6() || addr.Zone() != "" {
		return netip.Addr{}, fmt.Errorf("%.60q is not a GID", s)
	}
	return addr, nil
}
