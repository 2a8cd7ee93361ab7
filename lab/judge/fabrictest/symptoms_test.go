//go:build vm

package fabrictest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/railhead/railhead/lab/judge/fault"
	"github.com/railhead/railhead/lab/judge/perf"
)

// dead wants that nothing moved, however perftest ends: it hangs until it is killed, gives up after its retries, or
// ends well with a table of zeros.
func dead(average float64, err error) (string, error) {
	switch {
	case err == nil:
		return "", fmt.Errorf("RDMA moves %.1f MB/s", average)
	case errors.Is(err, perf.ErrHangs), errors.Is(err, perf.ErrNothingMoved):
		return err.Error(), nil
	}
	for _, words := range []string{"Completion with error", "Failed to complete"} {
		if strings.Contains(err.Error(), words) {
			return words, nil
		}
	}
	return "", err
}

var lost = regexp.MustCompile(`([0-9.]+)% packet loss`)

// ping returns the share of packets lost on the first rail, in percent.
func (p pair) ping(ctx context.Context, args ...string) (string, error) {
	to := p.other.Spec.Config.Cards[0].VFs[0].Address.Addr().String()
	r, err := fault.In(p.broken)(ctx, append([]string{"ping", "-q", "-W", "1"}, append(args, to)...)...)
	if err != nil {
		return "", err
	}
	share := lost.FindStringSubmatch(r.Stdout)
	if share == nil {
		return "", fmt.Errorf("ping ended with %d: %s%s", r.Code, r.Stdout, r.Stderr)
	}
	return share[1], nil
}

// pingsAndHangs wants that all works but RDMA.
func pingsAndHangs(ctx context.Context, p pair) (string, error) {
	if share, err := p.ping(ctx, "-c", "3", "-i", "0.2"); err != nil || share == "100" {
		return "", fmt.Errorf("ping loses %s %%: %w", share, err)
	}
	saw, err := rdmaHangs(ctx, p)
	return "ping works, and RDMA: " + saw, err
}

// largePacketsLost wants that packets as large as the MTU of the one machine do not arrive at the other.
func largePacketsLost(ctx context.Context, p pair) (string, error) {
	small, err := p.ping(ctx, "-c", "3", "-i", "0.2", "-M", "do", "-s", "1400")
	if err != nil || small != "0" {
		return "", fmt.Errorf("small packets: %s %% lost: %w", small, err)
	}
	large, err := p.ping(ctx, "-c", "3", "-i", "0.2", "-M", "do", "-s", "8000")
	if err != nil || large != "100" {
		return "", fmt.Errorf("large packets: %s %% lost: %w", large, err)
	}
	return "ping of 1400 bytes works, of 8000 bytes is lost", nil
}

// crossRailHangs wants that RDMA from one rail does not reach the other.
func crossRailHangs(ctx context.Context, p pair) (string, error) {
	end := func(rail int) perf.End {
		v := p.broken
		if rail == 1 {
			v = p.other
		}
		return perf.End{Run: fault.In(v), HCA: v.Spec.Config.Cards[rail].VFs[0].HCA, GID: 1}
	}
	b, err := perf.WriteBandwidth(ctx, end(1), end(0), p.meetingPlace())
	return dead(b.Average, err)
}

// packetsLost wants that some of many packets do not arrive.
func packetsLost(ctx context.Context, p pair) (string, error) {
	share, err := p.ping(ctx, "-c", "600", "-i", "0.005")
	if err != nil || share == "0" || share == "100" {
		return "", fmt.Errorf("ping loses %s %%: %w", share, err)
	}
	return "ping loses packets", nil
}

// slow wants that the first rail carries far less than the second.
func slow(ctx context.Context, p pair) (string, error) {
	limited, err := p.bandwidth(ctx, 0)
	if err != nil {
		return "", err
	}
	free, err := p.bandwidth(ctx, 1)
	if err != nil {
		return "", err
	}
	const limit = 1.1 // MB/s: 8 Mbit/s and what the bucket holds
	if limited.Average > limit || free.Average < 2*limited.Average {
		return "", fmt.Errorf("%.1f MB/s, and %.1f MB/s over the other rail", limited.Average, free.Average)
	}
	return "less than half of the other rail's bandwidth", nil
}
