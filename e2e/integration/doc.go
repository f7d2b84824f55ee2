// Package integration runs a hub and two workers, each the real program as a process of its own beside a real API server,
// and looks at them as a user would: through the API.
package integration
