package fault

// networkFaults are faults between two machines.
func networkFaults() []Fault {
	const table = "lab_fault"
	return []Fault{
		{
			Name: "firewall", Title: "a firewall drops RoCE's UDP port 4791",
			make: eachFunction("nft add table inet "+table,
				"nft add chain inet "+table+" out '{ type filter hook output priority 0; }'",
				"nft add rule inet "+table+" out udp dport 4791 drop"),
			heal: eachFunction("nft delete table inet " + table + " 2> /dev/null || true"),
		},
		{
			Name: "packet-loss", Title: "a rail loses 2 % of the packets",
			make: eachFunction("tc qdisc replace dev DEV root netem loss 2%"),
			heal: eachFunction("tc qdisc del dev DEV root 2> /dev/null || true"),
		},
		{
			Name: "slow-rail", Title: "a rail carries no more than 8 Mbit/s",
			make: eachFunction("tc qdisc replace dev DEV root tbf rate 8mbit burst 64kb latency 400ms"),
			heal: eachFunction("tc qdisc del dev DEV root 2> /dev/null || true"),
		},
	}
}
