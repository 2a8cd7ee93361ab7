package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ReadResult reads the JSON of a Result. The caller limits its size.
func ReadResult(r io.Reader) (Result, error) {
	var result Result
	switch err := json.NewDecoder(r).Decode(&result); {
	case err != nil:
		return Result{}, fmt.Errorf("not a result of 'railhead bench': %w", err)
	case result.SchemaVersion < 1 || result.SchemaVersion > ResultVersion:
		return Result{}, fmt.Errorf("unknown schema version %d: this railhead reads versions up to %d",
			result.SchemaVersion, ResultVersion)
	case !result.Whole():
		return Result{}, errors.New("incomplete result: it refers to pods or rails that it does not contain")
	}
	return result, nil
}
