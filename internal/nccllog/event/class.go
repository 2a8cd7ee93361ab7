package event

import "github.com/railhead/railhead/internal/nccllog/codes"

// Class returns the meaning of the event for the run. The signature sets it, unless the fields of the event decide.
func (e Event) Class() Class {
	if e.Info && e.Kind != GDRCopyFailed && e.Kind != FailedOver {
		return NoFault
	}
	class := SignatureOf(e).Class
	switch {
	case class != ByItsFields:
		return class
	case e.Async != nil:
		return classOfAsync(e.Async)
	case e.Completion != nil && e.Completion.Status == codes.StatusFlushed:
		return Followed
	}
	return Remote
}

// classOfAsync: a queue pair or a device that is broken ends the run, a port that goes down need not.
func classOfAsync(a *Async) Class {
	if a.Fatal {
		return Own
	}
	switch a.Type {
	case codes.CQError, codes.QPFatal, codes.QPRequestError, codes.QPAccessError, codes.DeviceFatal, codes.SRQError,
		codes.WQFatal:
		return Own
	case codes.PortError, codes.GIDChange, codes.PKeyChange, codes.PathMigrationError, codes.UnknownEvent:
		return Soft
	default:
		return NoFault
	}
}
