package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion/queryparams"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/railhead/railhead/internal/cluster"
)

const (
	// answerTimeout limits the first response of a server.
	answerTimeout = 10 * time.Second
	// defaultPatience is longer than a restart of an API server.
	defaultPatience = time.Minute
	// maxCalls bounds the concurrent calls.
	maxCalls = 8
)

// Client talks to one API server. Several goroutines may use it.
type Client struct {
	Talk     func(line string) // called with progress and the server's warnings, one at a time; may be nil
	Patience time.Duration     // how long to wait for a server that does not answer; 0: one minute

	rest     *rest.RESTClient
	config   *rest.Config
	limit    time.Duration // of one call, from --request-timeout; 0: none
	api      api
	noStream atomic.Bool // the server does not stream lists through watches

	mu     sync.Mutex
	server cluster.Server
	seen   map[string]map[string]any // objects by path, as they were last read or written
	warned map[string]bool
	away   bool      // the user knows that the server does not answer
	wrote  time.Time // of the last change

	talking sync.Mutex
}

func connect(ctx context.Context, config *rest.Config, contextName string) (*Client, error) {
	c := &Client{
		config: config,
		limit:  config.Timeout,
		server: cluster.Server{URL: config.Host, Context: contextName},
		seen:   map[string]map[string]any{},
		warned: map[string]bool{},
	}
	config.Timeout = 0 // it would end watches, logs and commands
	config.QPS = -1    // the server limits clients itself (API priority and fairness)
	config.WarningHandlerWithContext = warnings{c}
	config.NegotiatedSerializer = statusCodec()
	config.Wrap(c.recordWrites)
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, reachError(config.Host, err)
	}
	c.rest = client
	ctx, cancel := context.WithTimeout(quiet(ctx), cmp.Or(c.limit, answerTimeout))
	defer cancel()
	var calls errgroup.Group
	calls.Go(func() (err error) {
		c.api, err = c.discover(ctx)
		return err
	})
	calls.Go(func() error {
		c.readVersion(ctx)
		return nil
	})
	if err := calls.Wait(); err != nil {
		return nil, reachError(config.Host, err)
	}
	c.server.Groups = slices.Sorted(maps.Keys(c.api))
	return c, nil
}

// quiet stops client-go from logging to stderr; what matters is in its errors.
func quiet(ctx context.Context) context.Context { return klog.NewContext(ctx, klog.Logger{}) }

// statusCodec decodes the server's errors, in JSON and in protobuf. This package decodes everything else.
func statusCodec() runtime.NegotiatedSerializer {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(scheme).WithoutConversion()
}

// Server returns the facts about the server. Identify adds the user.
func (c *Client) Server() cluster.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server
}

// User returns the server's name for the user; empty before Identify, or if the server does not say.
func (c *Client) User() string { return c.Server().User }

// readVersion leaves the version empty if the server does not tell it, as one that hides it from users.
func (c *Client) readVersion(ctx context.Context) {
	var version struct{ Minor, GitVersion string }
	if callJSON(ctx, c.rest.Get().AbsPath("/version"), &version) != nil {
		return
	}
	c.server.Version = version.GitVersion
	c.server.Minor, _ = strconv.Atoi(strings.TrimRight(version.Minor, "+")) // "34+" on managed servers
}

// Identify asks the server for the user's name.
func (c *Client) Identify(ctx context.Context) error {
	user, err := c.whoami(ctx)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server.User = user
	return nil
}

// whoami returns the user's name (SelfSubjectReview, since Kubernetes 1.28); empty if the server does not say.
func (c *Client) whoami(ctx context.Context) (string, error) {
	version, ok := c.api.find("authentication.k8s.io", "selfsubjectreviews", "v1", "v1beta1")
	if !ok {
		return "", nil
	}
	var review struct {
		Status struct{ UserInfo struct{ Username string } }
	}
	group := "authentication.k8s.io/" + version
	err := c.post(ctx, "/apis/"+group+"/selfsubjectreviews",
		map[string]any{"apiVersion": group, "kind": "SelfSubjectReview"}, &review)
	if err = reachError(c.config.Host, err); errors.Is(err, ErrUnauthorized) || errors.Is(err, ErrUnreachable) {
		return "", err
	}
	return review.Status.UserInfo.Username, nil
}

// post creates a review and decodes the response.
func (c *Client) post(ctx context.Context, path string, body, response any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request := c.rest.Post().AbsPath(path).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(raw)
	return callJSON(ctx, request, response)
}

// callJSON makes a call and decodes the response.
func callJSON(ctx context.Context, request *rest.Request, response any) error {
	raw, err := responseBody(request.SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx))
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, response)
}

// withOptions adds the fields of an API options type to the query of a request, as client-go's typed clients do.
func withOptions(request *rest.Request, options any) *rest.Request {
	values, _ := queryparams.Convert(options) // fails only for values that are no struct
	for name, list := range values {
		for _, value := range list {
			request.Param(name, value)
		}
	}
	return request
}

// responseBody returns the body of a response, or the error that the server sent instead.
func responseBody(result rest.Result) ([]byte, error) {
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

func (c *Client) talk(line string) {
	if c.Talk == nil {
		return
	}
	c.talking.Lock()
	defer c.talking.Unlock()
	c.Talk(line)
}

// warnings reports each warning of the server once: deprecated versions, unknown fields, Pod Security.
type warnings struct{ client *Client }

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w warnings) HandleWarningHeaderWithContext(_ context.Context, code int, _ string, text string) {
	if code != 299 || text == "" {
		return
	}
	w.client.mu.Lock()
	known := w.client.warned[text]
	w.client.warned[text] = true
	w.client.mu.Unlock()
	if !known {
		w.client.talk("Warning: " + text)
	}
}
