package sysfs

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/railhead/railhead/internal/host"
	"github.com/railhead/railhead/internal/host/netlink"
)

// Attributes of rtnetlink(7) that describe links and virtual functions (include/uapi/linux/if_link.h).
const (
	iflaIfname     = 3
	iflaVFInfoList = 22
	iflaVFMAC      = 1
	iflaVFSpoofChk = 4
	iflaVFLink     = 5
	iflaVFTrust    = 9
	iflaVFNodeGUID = 10
)

var vfLinkStates = [...]string{"auto", "enable", "disable"} // IFLA_VF_LINK_STATE_*

// parseLink reads struct ifinfomsg and its attributes.
func parseLink(message []byte) (l host.Link, ok bool) {
	const header = 16
	if len(message) < header {
		return l, false
	}
	l.Index = host.Know(int(int32(binary.NativeEndian.Uint32(message[4:]))))
	netlink.EachAttribute(message[header:], func(kind uint16, value []byte) {
		switch kind {
		case iflaIfname:
			l.Name = strings.TrimRight(string(value), "\x00")
		case iflaVFInfoList:
			netlink.EachAttribute(value, func(_ uint16, info []byte) { l.VFs = append(l.VFs, parseVF(info)) })
		}
	})
	return l, l.Name != ""
}

// parseVF reads IFLA_VF_INFO: structs that begin with the number of the function.
func parseVF(info []byte) host.VF {
	var vf host.VF
	netlink.EachAttribute(info, func(kind uint16, value []byte) {
		if len(value) < 8 {
			return
		}
		setting := binary.NativeEndian.Uint32(value[4:])
		switch kind {
		case iflaVFMAC: // struct ifla_vf_mac: the number, 32 bytes of address
			vf.Index = int(binary.NativeEndian.Uint32(value))
			if len(value) >= 10 && string(value[4:10]) != "\x00\x00\x00\x00\x00\x00" {
				vf.MAC = strings.ReplaceAll(fmt.Sprintf("% x", value[4:10]), " ", ":")
			}
		case iflaVFSpoofChk:
			vf.SpoofChk = setting == 1 // ~0: the driver does not say
		case iflaVFTrust:
			if setting <= 1 {
				vf.Trust = host.Know(setting == 1)
			}
		case iflaVFLink:
			if int(setting) < len(vfLinkStates) {
				vf.LinkState = vfLinkStates[setting]
			}
		case iflaVFNodeGUID: // struct ifla_vf_guid: the number, padding, 64 bits
			if len(value) >= 16 {
				vf.NodeGUID = fmt.Sprintf("%016x", binary.NativeEndian.Uint64(value[8:]))
			}
		}
	})
	return vf
}

// parseGateway reads struct rtmsg and the gateway among its attributes.
func parseGateway(message []byte) []byte {
	const header, rtaGateway = 12, 5
	if len(message) < header {
		return nil
	}
	var gateway []byte
	netlink.EachAttribute(message[header:], func(kind uint16, value []byte) {
		if kind == rtaGateway {
			gateway = value
		}
	})
	return gateway
}
