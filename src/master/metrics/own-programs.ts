/** Metrics of programs beside the master: the HTTP API's process, and git. */
import { metric } from "./metric.ts";

export const apiProcess = {
  saltworks_api_restarts_total: metric(
    "counter",
    [],
    "Starts of the HTTP API after its first one: it had ended by itself. 0 without `rest_cherrypy`.",
  ),
};

export const gitFetches = {
  saltworks_git_fetches_total: metric(
    "counter",
    ["outcome"],
    "Fetches of git repositories: rounds (`fetched`), rounds with a failure (`failed`), repositories with something new (`changed`), and locked ones (`locked`).",
  ),
};
