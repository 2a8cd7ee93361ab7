#!/usr/bin/env bash
# client-go 0.36.3, k8s.io/client-go/tools/remotecommand: what is the result of a command whose error stream ends before
# a status was written to it?
#
# The API of exec promises a status on the error stream for each command: {"status":"Success"} or a failure with the
# exit code. An API server or a kubelet that goes away after it has closed its streams writes none.
#
# Guess: an error, because nobody said how the command ended.
# Seen: no error, which is how exit code 0 is told, and the half of the output that had come. So a caller that needs the
# output whole has to frame it, or to ask for it once more.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >go.mod <<'EOF'
module example.invalid/nostatus

go 1.26.0

require (
	k8s.io/apimachinery v0.36.3
	k8s.io/client-go v0.36.3
)
EOF
cat >main.go <<'EOF'
// It executes a command at a server that writes half of the output, and ends the streams without a status.
package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"

	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apimachinery/pkg/util/httpstream/spdy"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
)

func serve(w http.ResponseWriter, r *http.Request) {
	if _, err := httpstream.Handshake(r, w, []string{"v5.channel.k8s.io", "v4.channel.k8s.io"}); err != nil {
		return
	}
	streams := make(chan httpstream.Stream, 2) // error and stdout
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if conn == nil {
		return
	}
	defer conn.Close()
	for range 2 {
		s := <-streams
		if s.Headers().Get("streamType") == "stdout" {
			fmt.Fprint(s, "half of ")
		}
		s.Close()
	}
	<-conn.CloseChan() // the client has read all
}

func main() {
	server := httptest.NewServer(http.HandlerFunc(serve))
	at, err := url.Parse(server.URL + "/api/v1/namespaces/train/pods/job-0/exec?command=cat&stdout=true")
	if err != nil {
		panic(err)
	}
	executor, err := remotecommand.NewSPDYExecutor(&rest.Config{Host: server.URL}, http.MethodPost, at)
	if err != nil {
		panic(err)
	}
	var out bytes.Buffer
	err = executor.StreamWithContext(context.Background(), remotecommand.StreamOptions{Stdout: &out})
	fmt.Fprintf(os.Stdout, "output %q, error %v\n", out.String(), err)
}
EOF
export GOFLAGS=-mod=mod GOWORK=off CGO_ENABLED=0
go mod tidy 2>/dev/null
got=$(go run .)
want='output "half of ", error <nil>'
echo "client-go 0.36.3: $got"
[[ $got == "$want" ]] || { echo "it was: $want" >&2; exit 1; }
