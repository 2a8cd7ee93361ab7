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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/railhead/railhead/internal/cluster"
)

const (
	// answerTime limits the first answer of a server.
	answerTime = 10 * time.Second
	// defaultPatience is the time to wait for a server that went away: an API server's restart takes less.
	defaultPatience = time.Minute
	// atOnce bounds the calls under way at the same time.
	atOnce = 8
)

// Client talks to one API server. It may be used by several goroutines.
type Client struct {
	Talk     func(line string) // called with progress and the server's warnings, one at a time; may be nil
	Patience time.Duration     // how long a server that went away is waited for; 0: one minute

	rest     *rest.RESTClient
	config   *rest.Config
	limit    time.Duration // of one call, as --request-timeout has it; 0: none
	api      api
	noStream atomic.Bool // the server does not stream lists through watches

	mu     sync.Mutex
	server cluster.Server
	seen   map[string]map[string]any // objects by path, as they were read or written last
	warned map[string]bool
	away   bool // it has been said that the server does not answer
	wrote  time.Time

	speaking sync.Mutex
}

func connect(ctx context.Context, config *rest.Config, contextName string) (*Client, error) {
	c := &Client{config: config, limit: config.Timeout, seen: map[string]map[string]any{}, warned: map[string]bool{}}
	config.Timeout = 0 // it would end watches, logs and commands
	c.server = cluster.Server{URL: config.Host, Context: contextName}
	config.QPS = -1 // the server queues by itself (API priority and fairness)
	config.WarningHandlerWithContext = warnings{c}
	config.NegotiatedSerializer = statusCodec()
	config.Wrap(c.clocked)
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, reachError(config.Host, err)
	}
	c.rest = client
	ctx, cancel := context.WithTimeout(quiet(ctx), cmp.Or(c.limit, answerTime))
	defer cancel()
	if c.api, err = c.discover(ctx); err != nil {
		return nil, reachError(config.Host, err)
	}
	c.server.Groups = slices.Sorted(maps.Keys(c.api))
	return c, nil
}

// quiet stops client-go from logging to stderr: important messages are returned as errors.
func quiet(ctx context.Context) context.Context { return klog.NewContext(ctx, klog.Logger{}) }

// statusCodec decodes the server's errors, in JSON and in protobuf; everything else is decoded by this package.
func statusCodec() runtime.NegotiatedSerializer {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(scheme).WithoutConversion()
}

// Server returns the known facts about the server. Its version and the user are known after Identify.
func (c *Client) Server() cluster.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.server
}

// User returns whoever asks, as the server names them; "" before Identify, or when the server does not say.
func (c *Client) User() string { return c.Server().User }

// Identify asks the server for its version and for the name of whoever asks: two calls, which deploying does without.
func (c *Client) Identify(ctx context.Context) error {
	var version struct{ Major, Minor, GitVersion string }
	var user string
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		raw, err := responseBody(c.rest.Get().AbsPath("/version").Do(ctx))
		if err != nil {
			return reachError(c.config.Host, err)
		}
		return json.Unmarshal(raw, &version)
	})
	g.Go(func() (err error) {
		user, err = c.whoami(ctx)
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.server.Version, c.server.User = version.GitVersion, user
	c.server.Minor, _ = strconv.Atoi(strings.TrimRight(version.Minor, "+")) // "34+" on managed servers
	return nil
}

// whoami is the name of whoever asks (SelfSubjectReview, served since Kubernetes 1.28); "" when the server does not
// say.
func (c *Client) whoami(ctx context.Context) (string, error) {
	version, ok := c.api.find("authentication.k8s.io", "selfsubjectreviews", "v1", "v1beta1")
	if !ok {
		return "", nil
	}
	var review struct {
		Status struct{ UserInfo struct{ Username string } }
	}
	err := c.post(ctx, "/apis/authentication.k8s.io/"+version+"/selfsubjectreviews",
		map[string]any{"apiVersion": "authentication.k8s.io/" + version, "kind": "SelfSubjectReview"}, &review)
	if err = reachError(c.config.Host, err); errors.Is(err, ErrUnauthorized) || errors.Is(err, ErrUnreachable) {
		return "", err
	}
	return review.Status.UserInfo.Username, nil
}

// post creates a review and reads the answer.
func (c *Client) post(ctx context.Context, path string, body, answer any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	raw, err = responseBody(c.rest.Post().AbsPath(path).SetHeader("Content-Type", runtime.ContentTypeJSON).
		SetHeader("Accept", runtime.ContentTypeJSON).Body(raw).Do(ctx))
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, answer)
}

// responseBody returns the body of an answer, or the server's own words of why there is none.
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
	c.speaking.Lock()
	defer c.speaking.Unlock()
	c.Talk(line)
}

// warnings hands each of the server's warnings on once: deprecated versions, unknown fields, Pod Security.
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
