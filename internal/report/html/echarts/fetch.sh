#!/bin/sh
# Renews echarts.min.js.gz from the npm registry: the file as its makers publish it, of one version, by its checksums.
set -eu
cd "$(dirname "$0")"
version=6.1.0
package=q0yaFPggC9FUdsWH4blavRWFmxdrIodbkoKNAjJudAI6CA9gNPxHtV2RcZNEepZVlk4yvBYkOkbk6HIVpIyHZA== # sha512 in the registry
script=b66b25aeb4df84e33199dc21694014d336d222cbd9deb0e5a7c14bd6aa0d0fd0                           # sha256

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm pack --silent --pack-destination "$folder" "echarts@$version" > /dev/null
test "$(openssl dgst -sha512 -binary "$folder/echarts-$version.tgz" | openssl base64 -A)" = "$package" ||
	{ echo "echarts $version: the package is not the one that was reviewed" >&2; exit 1; }
tar xzf "$folder/echarts-$version.tgz" -C "$folder" package/dist/echarts.min.js package/LICENSE package/NOTICE package/licenses/LICENSE-d3
echo "$script  $folder/package/dist/echarts.min.js" | sha256sum --check --quiet
gzip -9 -n < "$folder/package/dist/echarts.min.js" > echarts.min.js.gz
cp "$folder/package/LICENSE" "$folder/package/NOTICE" "$folder/package/licenses/LICENSE-d3" .
