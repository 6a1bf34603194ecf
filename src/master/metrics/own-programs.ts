/** Metrics of programs beside the master: the HTTP API's process, git, and the site's own Python. */
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

export const sitePython = {
  saltworks_sidecar_requests_total: metric(
    "counter",
    ["outcome"],
    "Questions to the site's own Python: all (`asked`), and how many failed, timed out or found no room (`failed`, `timeout`, `refused`).",
  ),
  saltworks_sidecar_processes: metric("gauge", [], "Python processes that run."),
  saltworks_sidecar_waiting: metric("gauge", [], "Questions that wait for a Python process."),
  saltworks_sidecar_processes_total: metric(
    "counter",
    ["what"],
    "Python processes: starts (`started`), and ends or kills in a call (`lost`).",
  ),
  saltworks_sidecar_pillars_total: metric(
    "counter",
    ["outcome"],
    "Pillars that were rendered beside Python (`rendered`), or found no room (`refused`).",
  ),
};
