#!/usr/bin/env bash
# The common shape of the launch wrappers that are pasted into training images: finds the allocated SR-IOV devices and
# sets NCCL's and UCX's environment. railhead-pod is measured against it, so it is written as such wrappers are
# by people who know bash: grep and sed where text is taken apart, builtins where one file is read.
set -uo pipefail

echo "Memory lock limit: $(ulimit -l)"
ulimit -l unlimited 2>/dev/null || echo "Warning: cannot raise the memory lock limit" >&2

devices=()

# SR-IOV network device plugin 3.10 and later: the RDMA device is in PCIDEVICE_<resource>_INFO.
for var in $(env | grep -o '^PCIDEVICE_[A-Za-z0-9_]*_INFO'); do
	for dev in $(grep -o '"rdma_dev":"[^"]*"' <<<"${!var}" | sed 's/.*:"\(.*\)"/\1/'); do
		devices+=("$dev")
	done
done

# Older plugins: PCI addresses only.
if ((${#devices[@]} == 0)); then
	for addr in $(env | grep '^PCIDEVICE_' | grep -v '_INFO=' | cut -d= -f2 | tr ',' ' '); do
		for path in "/sys/bus/pci/devices/$addr/infiniband/"*; do
			[[ -e $path ]] && devices+=("${path##*/}")
		done
	done
fi

# No allocation in the environment: every virtual function that is visible.
if ((${#devices[@]} == 0)); then
	for path in /sys/class/infiniband/*; do
		[[ -e $path/device/physfn ]] && devices+=("${path##*/}")
	done
fi

active=()
for dev in $(printf '%s\n' "${devices[@]}" | sort -uV); do
	if grep -q ACTIVE "/sys/class/infiniband/$dev/ports/1/state" 2>/dev/null; then
		active+=("$dev")
	else
		echo "Skipping $dev: port 1 is not ACTIVE" >&2
	fi
done
echo "Auto-detected allocated SR-IOV devices: ${active[*]:-none}"
echo "Found ${#active[@]} SR-IOV allocated device(s)"

find_gid_index() {
	local port=/sys/class/infiniband/$1/ports/1 i gid type
	for ((i = 0; ; i++)); do
		[[ -e $port/gids/$i ]] || return 1
		read -r gid <"$port/gids/$i" || continue
		[[ $gid == 0000:0000:0000:0000:0000:ffff:* ]] || continue
		read -r type 2>/dev/null <"$port/gid_attrs/types/$i" || continue
		if [[ $type == "RoCE v2" ]]; then
			echo "$i"
			return 0
		fi
	done
}

if ((${#active[@]} > 0)); then
	hcas=$(printf '%s:1,' "${active[@]}")
	export NCCL_IB_HCA="=${hcas%,}"
	export UCX_NET_DEVICES="${hcas%,}"
	# NCCL takes one GID index for all devices: their RoCE v2 IPv4 addresses must be in the same slot.
	indices=()
	for dev in "${active[@]}"; do
		indices+=("$(find_gid_index "$dev")")
	done
	if (($(printf '%s\n' "${indices[@]}" | sort -u | wc -l) == 1)) && [[ -n ${indices[0]} ]]; then
		export NCCL_IB_GID_INDEX=${indices[0]}
	else
		echo "Warning: no common GID index: ${indices[*]}" >&2
	fi
fi

ifname=$(awk '$2 == "00000000" && $8 == "00000000" {print $1; exit}' /proc/net/route)
[[ -n $ifname ]] && export NCCL_SOCKET_IFNAME="=$ifname"

exec "$@"
