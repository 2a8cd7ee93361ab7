package main

// section is a part of the navigation.
type section struct {
	Title   string
	entries []entry
}

// entry is a page of the navigation. Its folder, if it has one, holds pages that are listed only on the page itself and
// below it while one of them is shown.
type entry struct {
	source, title, folder string
}

// contents is the navigation: every page of docs is in it or in the folder of one that is.
var contents = []section{
	{"Start", []entry{
		{source: "docs/index.md", title: "Railhead"},
		{source: "docs/install.md", title: "Install"},
		{source: "docs/quickstart.md", title: "Start in ten minutes"},
		{source: "docs/concepts.md", title: "Concepts"},
		{source: "docs/glossary.md", title: "Glossary"},
		{source: "docs/demo.md", title: "The demo, read"},
	}},
	{"Use", []entry{
		{source: "docs/guide-users.md", title: "For users"},
		{source: "docs/migrate.md", title: "Moving from scripts"},
		{source: "docs/assistants.md", title: "Assistants and pipelines"},
	}},
	{"Diagnose", []entry{
		{source: "docs/troubleshooting.md", title: "Troubleshooting"},
		{source: "docs/explain.md", title: "Explain a log"},
		{source: "docs/wire.md", title: "Proof from the kernel"},
		{source: "docs/bench.md", title: "Measure the network"},
		{source: "docs/report.md", title: "Reports"},
	}},
	{"Administer", []entry{
		{source: "docs/guide-admins.md", title: "For administrators"},
		{source: "docs/prerequisites.md", title: "Prerequisites"},
		{source: "docs/versions.md", title: "Versions"},
		{source: "docs/rights.md", title: "Rights"},
		{source: "docs/iommu.md", title: "IOMMU passthrough"},
		{source: "docs/air-gapped.md", title: "Sites without internet"},
		{source: "docs/upgrade.md", title: "Upgrade and removal"},
		{source: "docs/security.md", title: "Security"},
	}},
	{"Reference", []entry{
		{source: "docs/reference/railhead/README.md", title: "railhead", folder: "docs/reference/railhead"},
		{source: "docs/reference/railhead-pod/README.md", title: "railhead-pod", folder: "docs/reference/railhead-pod"},
		{source: "docs/checks", title: "Checks", folder: "docs/checks"},
		{source: "docs/causes.md", title: "Causes"},
		{source: "docs/exit-codes.md", title: "Exit codes"},
		{source: "docs/schemas.md", title: "JSON schemas"},
		{source: "docs/costs.md", title: "Costs"},
	}},
	{"Project", []entry{
		{source: "docs/architecture.md", title: "Architecture"},
		{source: "docs/lab.md", title: "The lab"},
		{source: "docs/testing.md", title: "What was tested"},
		{source: "docs/pictures/README.md", title: "Pictures"},
		{source: "CONTRIBUTING.md", title: "Contributing"},
		{source: "SECURITY.md", title: "Reporting a vulnerability"},
	}},
}
