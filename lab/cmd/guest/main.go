// Command guest is the first process of the lab's virtual machines, and their device plugin. It also records what their
// RDMA netlink answers.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/railhead/railhead/internal/host/netlink"
	"github.com/railhead/railhead/lab/machines/deviceplugin"
	"github.com/railhead/railhead/lab/machines/guest"
	"github.com/railhead/railhead/lab/machines/guest/node"
	"github.com/railhead/railhead/lab/machines/guest/pid1"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "init:", err)
		if os.Getpid() == 1 {
			pid1.Stay() // the kernel stops when its first process ends
		}
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case os.Getpid() == 1:
		return pid1.First()
	case len(args) == 1 && args[0] == pid1.Worker:
		pid1.Work()
	case len(args) == 1 && args[0] == pid1.Crashed:
		pid1.Tell()
	case len(args) > 1 && args[0] == node.DevicePluginArgument:
		return devicePlugin(args[1:])
	case len(args) == 1 && args[0] == guest.RecordRDMANetlink:
		return recordRDMANetlink()
	}
	return fmt.Errorf("unknown arguments %q", args)
}

// devicePlugin is the device plugin until it is told to end.
func devicePlugin(resources []string) error {
	p := deviceplugin.Plugin{
		Root: os.DirFS("/"), Sockets: deviceplugin.SocketFolder, Info: deviceplugin.InfoFolder,
		Log: log.New(os.Stderr, "", log.LstdFlags|log.Lmicroseconds),
	}
	for _, text := range resources {
		r, err := deviceplugin.ParseResource(text)
		if err != nil {
			return err
		}
		p.Resources = append(p.Resources, r)
	}
	p.Registered = func() {
		err := os.MkdirAll(filepath.Dir(node.RegisteredFile), 0o755)
		if err == nil {
			err = os.WriteFile(node.RegisteredFile, nil, 0o644)
		}
		if err != nil {
			p.Log.Print(err)
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return p.Run(ctx)
}

// recordRDMANetlink prints what the kernel answers to the requests of railhead-pod.
func recordRDMANetlink() error {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return err
	}
	r := netlink.Recording{Kernel: unix.ByteSliceToString(name.Release[:])}
	err := netlink.With(unix.NETLINK_RDMA, func(rdma netlink.Exchange) error {
		if _, err := r.Of(rdma).Read(time.Now); err != nil {
			return err
		}
		return netlink.With(unix.NETLINK_ROUTE, func(route netlink.Exchange) error {
			_, err := netlink.InterfaceMTUs(r.Of(rdma), r.Of(route))
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("read netlink: %w", err)
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}
