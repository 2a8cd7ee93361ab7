// Coredns is CoreDNS with the plugins that the lab's nodes use; its release compiles some fifty in.
package main

import (
	_ "github.com/coredns/caddy/onevent" // as coredns itself has it
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/log"
)

func main() {
	coremain.Run()
}
