package e2e_test

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"
)

// kubeconfig is one for a server, with a token, after changes.
func kubeconfig(t *testing.T, server string, change func(*api.Config)) string {
	t.Helper()
	k := api.NewConfig()
	k.Clusters["lab"] = &api.Cluster{Server: server, CertificateAuthorityData: openShift.Admin().CAData}
	k.AuthInfos["me"] = &api.AuthInfo{Token: "sha256~expired"}
	k.Contexts["lab"] = &api.Context{Cluster: "lab", AuthInfo: "me"}
	k.CurrentContext = "lab"
	if change != nil {
		change(k)
	}
	text, err := clientcmd.Write(*k)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// nobody returns an address at which nothing listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestNoCluster: what keeps every command from its cluster is one clear message, and exit code 1.
func TestNoCluster(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "")
	host := openShift.Admin().Host
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte("{{{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		flags []string
		says  []string
	}{
		"no kubeconfig at all":         {nil, []string{"no cluster to talk to: no kubeconfig at ", "--kubeconfig", "$KUBECONFIG", "oc login"}},
		"kubeconfig that is not there": {[]string{"--kubeconfig=/nowhere/config"}, []string{"/nowhere/config", "no such file"}},
		"kubeconfig that is none":      {[]string{"--kubeconfig=" + garbage}, []string{"read kubeconfig " + garbage}},
		"unknown context": {[]string{"--kubeconfig=" + kubeconfig(t, host, nil), "--context=prod"},
			[]string{`no such context: "prod" is not in `, "choose one with --context: lab"}},
		"no current context": {[]string{"--kubeconfig=" + kubeconfig(t, host, func(k *api.Config) { k.CurrentContext = "" })},
			[]string{"has no current context; choose one with --context: lab"}},
		"expired token": {[]string{"--kubeconfig=" + kubeconfig(t, host, nil)},
			[]string{"the API server rejects the credentials: " + host, "log in again (oc login)", "has expired"}},
		"nothing listens": {[]string{"--kubeconfig=" + kubeconfig(t, "https://"+nobody(t), nil)},
			[]string{"the API server does not answer: https://127.0.0.1:", "connection refused", "is the address right"}},
		"no such host": {[]string{"--kubeconfig=" + kubeconfig(t, "https://api.example.invalid:6443", nil)},
			[]string{"the API server does not answer: https://api.example.invalid:6443", "api.example.invalid"}},
		"a certificate of somebody else": {[]string{"--kubeconfig=" + kubeconfig(t, host, func(k *api.Config) { k.Clusters["lab"].CertificateAuthorityData = nil })},
			[]string{"certificate is not trusted", "--certificate-authority"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, command := range [][]string{
				{"inventory"}, {"setup", "cluster", "--yes"}, {"setup", "status"}, {"deploy", "job", "--image=i", "--pod-binary=amd64=" + podBinary, "--yes"},
				{"status", "job"}, {"delete", "job", "--yes"},
			} {
				code := 1 // of commands that change something
				if slices.Contains(command, "inventory") || slices.Contains(command, "status") {
					code = 3
				}
				r := user{}.ends(t, code, append(command, test.flags...)...).silent(t)
				r.says(t, test.says...)
				if lines := strings.Count(r.err, "\n"); lines != 1 || !strings.HasPrefix(r.err, "railhead: ") {
					t.Errorf("%q says %d lines:\n%s", command, lines, r.err)
				}
			}
		})
	}
}

// TestCommandLine: what is wrong with the command line is exit code 2, a file that it names and that cannot be read is
// exit code 3, and neither asks a server.
func TestCommandLine(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "")
	for name, test := range map[string]struct {
		args []string
		says []string
	}{
		"unknown flag":        {[]string{"inventory", "--wide"}, []string{"unknown flag: --wide", "Try 'railhead inventory --help'."}},
		"unknown command":     {[]string{"deplyo"}, []string{`unknown command "deplyo"`, "deploy"}},
		"unknown subcommand":  {[]string{"setup", "clutser"}, []string{`unknown command "clutser" for "railhead setup"`}},
		"unknown form":        {[]string{"inventory", "-o", "xml"}, []string{"must be one of table, wide, json, yaml"}},
		"unknown dry run":     {[]string{"setup", "cluster", "--dry-run=yes"}, []string{"must be one of none, client, server"}},
		"no name":             {[]string{"deploy"}, []string{"the name of the job is missing: railhead deploy NAME"}},
		"command without --":  {[]string{"deploy", "job", "torchrun", "train.py"}, []string{`unexpected argument "torchrun"`}},
		"single with nodes":   {[]string{"deploy", "job", "--type=single", "--nodes=2", "--image=i", "--pod-binary=amd64=" + podBinary}, []string{"--nodes 2 needs --type multi"}},
		"number that is none": {[]string{"deploy", "job", "--nodes=two"}, []string{`invalid argument "two" for "--nodes"`}},
		"no manifest":         {[]string{"inject"}, []string{"name a manifest with -f FILE"}},
		"nothing to launch":   {[]string{"launch", "job"}, []string{"no command to run"}},
	} {
		t.Run(name, func(t *testing.T) {
			user{}.ends(t, 2, test.args...).silent(t).says(t, append(test.says, "railhead: ")...)
		})
	}
	for flag, args := range map[string][]string{
		"--script: open":     {"deploy", "job", "--script=/nowhere/file"},
		"--pod-binary: open": {"deploy", "job", "--pod-binary=amd64=/nowhere/file"},
		"-f: open":           {"inject", "-f", "/nowhere/file", "--pod-binary=amd64=" + podBinary},
	} {
		user{}.ends(t, 3, args...).silent(t).says(t, "railhead: "+flag+" /nowhere/file: no such file")
	}
}
