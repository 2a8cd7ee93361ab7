package node

import (
	"net/netip"

	"github.com/railhead/railhead/lab/machines/guest"
)

const cniVersion = "0.4.0"

// bridge is the pods' own network, eth0. Its way to the pods of other nodes is the machine's routes.
type bridge struct {
	CNIVersion string    `json:"cniVersion"`
	Name       string    `json:"name"`
	Type       string    `json:"type"`
	Bridge     string    `json:"bridge"`
	IsGateway  bool      `json:"isGateway"`
	IPMasq     bool      `json:"ipMasq"`
	IPAM       hostLocal `json:"ipam"`
}

type hostLocal struct {
	Type   string  `json:"type"`
	Subnet string  `json:"subnet"`
	Routes []route `json:"routes"`
}

type route struct {
	Dst string `json:"dst"`
}

func pods(subnet netip.Prefix) bridge {
	return bridge{
		CNIVersion: cniVersion, Name: "pods", Type: "bridge", Bridge: "cni0", IsGateway: true,
		IPAM: hostLocal{Type: "host-local", Subnet: subnet.String(), Routes: []route{{"0.0.0.0/0"}}},
	}
}

// multusConf configures the thin plugin. Its default network is a .conf: of a list (.conflist) Multus v4.2.3 passes
// on only the keys that it knows itself (pkg/types/conf.go), so that the bridge is told of no subnet.
type multusConf struct {
	CNIVersion     string          `json:"cniVersion"`
	Name           string          `json:"name"`
	Type           string          `json:"type"`
	BinDir         string          `json:"binDir"`
	Kubeconfig     string          `json:"kubeconfig"`
	ClusterNetwork string          `json:"clusterNetwork"`
	Capabilities   map[string]bool `json:"capabilities"`
	LogLevel       string          `json:"logLevel"`
	LogFile        string          `json:"logFile"`
}

func multus() multusConf {
	return multusConf{
		CNIVersion: cniVersion, Name: "multus-cni-network", Type: "multus", BinDir: plugins,
		Kubeconfig: multusKubeconfig, ClusterNetwork: podNetwork, Capabilities: map[string]bool{"portMappings": true},
		LogLevel: "verbose", LogFile: guest.LogFolder + "/multus.log",
	}
}

// whereaboutsConf lacks the settings that a network's own configuration has. Without this file whereabouts does not
// run at all.
type whereaboutsConf struct {
	Datastore  string                `json:"datastore"`
	Kubernetes whereaboutsKubernetes `json:"kubernetes"`
	Reconciler string                `json:"reconciler_cron_expression"`
	LogLevel   string                `json:"log_level"`
	LogFile    string                `json:"log_file"`
}

type whereaboutsKubernetes struct {
	Kubeconfig string `json:"kubeconfig"`
}

func whereabouts() whereaboutsConf {
	return whereaboutsConf{
		Datastore: "kubernetes", Kubernetes: whereaboutsKubernetes{whereaboutsKubeconfig},
		Reconciler: "30 4 * * *", LogLevel: "verbose", LogFile: guest.LogFolder + "/whereabouts.log",
	}
}
