package process

import (
	"math"
	"os"
	"testing"
)

func TestUsage(t *testing.T) {
	const text = "Name:\tqemu-system-x86\nUmask:\t0022\nState:\tR " +
		"(running)\nTgid:\t15374\nNgid:\t0\nPid:\t15374\nPPid:\t15299\nTracerPid:\t0\n" +
		"VmPeak:\t 1875764 kB\nVmSize:\t 1875764 kB\nVmHWM:\t  890864 kB\nVmRSS:\t  890864 kB\n"
	if got, want := parseUsage(text), (usage{"qemu-system-x86", 15374, 15299, 890864 << 10}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestBelow(t *testing.T) {
	all := map[int]usage{
		1: {"init", 1, 0, 1}, 10: {"lab", 10, 1, 20}, 11: {"qemu", 11, 10, 300}, 12: {"qemu", 12, 10, 400},
		13: {"sh", 13, 12, 5000},
		20: {"go", 20, 10, 60000}, 21: {"compile", 21, 20, 700000}, 30: {"other", 30, 1, 8000000},
	}
	if got := below(all, 10); got != 5720 {
		t.Errorf("%d, want 5720", got)
	}
}

func TestPeakMemory(t *testing.T) {
	got, err := PeakMemory(os.Getpid())
	if err != nil || got < 1<<20 {
		t.Errorf("this process has had %d bytes, %v", got, err)
	}
	if _, err := PeakMemory(math.MaxInt32); err == nil {
		t.Error("a process that is not there has memory")
	}
}
