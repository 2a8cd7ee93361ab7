package event

import (
	"strings"
	"testing"
)

func FuzzCompletion(f *testing.F) {
	f.Add("NET/IB: Got completion from peer 10.0.0.5<33> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=1 " +
		"vendor_err=129 req_type=Send localGid a remoteGidsb hca c")
	f.Add("with error 12, opcode 0, len 0, vendor err 129 (Recv)")
	f.Fuzz(func(t *testing.T, text string) {
		var e Event
		if readCompletion(&e, text, ""); e.Completion.Status >= 0 && e.Completion.Name == "" {
			t.Errorf("%q: %+v", text, e.Completion)
		}
	})
}

func FuzzVerbs(f *testing.F) {
	f.Add("Call to ibv_modify_qp failed with 61 No data available, on dev a:1, curr state INIT, next state RTR, " +
		"local GID index 3, local GID ::, remote GID ::1")
	f.Add("ibv_reg_mr failed with error Unknown error -12")
	f.Fuzz(func(t *testing.T, text string) {
		if !strings.Contains(text, "ibv_") {
			return
		}
		if v := verbsOf(text); v != nil && (!strings.HasPrefix(v.Call, "ibv_") || v.Errno < 0 && v.Error == "") {
			t.Errorf("%q: %+v", text, v)
		}
	})
}

func FuzzWarning(f *testing.F) {
	f.Add("NET/IB : mlx5_3:1 async fatal event on QP (0x7): local work queue error", "transport/net_ib.cc:1")
	f.Add("socketPollConnect: connect to 1.2.3.4<5> returned Connection timed out, exceeded", "misc/socket.cc:1")
	f.Add("Cuda failure 2 'out of memory'", "nvls.cc:1")
	f.Fuzz(func(t *testing.T, text, where string) {
		e := OfWarning(text, where)
		if (e.Kind == BadCompletion) != (e.Completion != nil) || (e.Kind == AsyncEvent) != (e.Async != nil) ||
			(e.Kind == VerbsFailed) != (e.Verbs != nil) {
			t.Errorf("%q: %+v", text, e)
		}
	})
}
