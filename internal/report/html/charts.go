package html

// chartData is drawn by the scripts of the page.
type chartData struct {
	Machines   []Machine   `json:"machines"`
	Links      []Links     `json:"links"`
	Ladders    []Ladder    `json:"ladders"`
	AllReduces []AllReduce `json:"allReduces"`
	Rollouts   []Rollout   `json:"rollouts"`
}

func charts(p Page) chartData {
	return chartData{list(p.Machines), list(p.Links), list(p.Ladders), list(p.AllReduces), list(p.Rollouts)}
}

// list is never null in JSON.
func list[T any](all []T) []T {
	if all == nil {
		return []T{}
	}
	return all
}
