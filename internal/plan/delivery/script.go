package delivery

import (
	"cmp"
	"fmt"
	"strings"
)

// script joins the parts in any image that has sh, cat, chmod, uname, and gzip or python3. It checks the hash if the
// image has sha256sum; gzip's own checksum is always checked.
func script(programs []Program) string {
	var b strings.Builder
	b.WriteString("set -e\ncase $(uname -m) in\n")
	machines := map[string]string{"amd64": "x86_64", "arm64": "aarch64|arm64"} // as uname -m names them
	for _, p := range programs {
		fmt.Fprintf(&b, "%s) arch=%s sum=%s ;;\n", cmp.Or(machines[p.Arch], p.Arch), p.Arch, p.SHA256)
	}
	fmt.Fprintf(&b, `*) echo "railhead-pod was not delivered for $(uname -m)" >&2; exit 1 ;;
esac
cat %[1]s/$arch/* > %[2]s.gz
if command -v sha256sum > /dev/null; then
  echo "$sum  %[2]s.gz" | sha256sum -c - > /dev/null ||
    { echo "railhead-pod is damaged: its SHA-256 is not $sum" >&2; exit 1; }
fi
if command -v gzip > /dev/null; then
  gzip -dc %[2]s.gz > %[2]s
elif command -v python3 > /dev/null; then
  python3 -c 'import gzip,sys; sys.stdout.buffer.write(gzip.open(sys.argv[1]).read())' %[2]s.gz > %[2]s
else
  echo "the image has neither gzip nor python3: name an image of railhead-pod with --pod-image" >&2; exit 1
fi
chmod 0755 %[2]s
rm %[2]s.gz
`, partsFolder, Path)
	return b.String()
}
