/** The panels of the Grafana dashboard, by rows: what an operator asks of a master, and the query that answers. */

/** Grafana's names of units. `cores` and the like are shown as they are. */
export type PanelUnit = "short" | "ops" | "s" | "bytes" | "percentunit" | "cores" | "minions" | "none";

/** `legend`: in Grafana's form, `{{label}}`. `{m}` stands for the dashboard's choice of masters. */
export type PanelQuery = { readonly expr: string; readonly legend: string };

export type Panel = {
  readonly title: string;
  readonly about: string;
  readonly kind: "timeseries" | "stat";
  readonly unit: PanelUnit;
  readonly queries: readonly PanelQuery[];
  readonly isStacked?: boolean;
};

export type PanelRow = { readonly title: string; readonly panels: readonly Panel[] };

function line(title: string, unit: PanelUnit, about: string, ...queries: readonly PanelQuery[]): Panel {
  return { title, about, kind: "timeseries", unit, queries };
}

function stack(title: string, unit: PanelUnit, about: string, ...queries: readonly PanelQuery[]): Panel {
  return { ...line(title, unit, about, ...queries), isStacked: true };
}

function stat(title: string, unit: PanelUnit, about: string, expr: string): Panel {
  return { title, about, kind: "stat", unit, queries: [{ expr, legend: "{{instance}}" }] };
}

const q = (expr: string, legend: string): PanelQuery => ({ expr, legend });

/** Events a second of a counter, summed by labels. */
function rates(metric: string, by: string, legend = `{{${by.split(",").at(-1)}}}`, only = ""): PanelQuery {
  return q(`sum by (instance,${by}) (rate(${metric}{m${only}}[$__rate_interval]))`, `{{instance}} ${legend}`);
}

/** A histogram's quantile for each value of the labels `by`. */
function quantile(share: number, metric: string, by: string, only = ""): string {
  const groups = ["instance", "le", ...by.split(",").filter((label) => label !== "")].join(",");
  return `histogram_quantile(${share}, sum by (${groups}) (rate(${metric}_bucket{m${only}}[$__rate_interval])))`;
}

const fleet: PanelRow = {
  title: "Fleet",
  panels: [
    stat("Connected minions", "minions", "Heard within presence_timeout.", `saltworks_minions{m,state="connected"}`),
    stat("Accepted minions", "minions", "Accepted keys.", `saltworks_minions{m,state="accepted"}`),
    stat(
      "Returns a second",
      "ops",
      "Stored returns.",
      `sum by (instance) (rate(saltworks_returns_total{m,outcome="stored"}[$__rate_interval]))`,
    ),
    stat(
      "p99 wait for a worker",
      "s",
      "How long 99 of 100 batches waited at most before they left for a worker.",
      quantile(0.99, "saltworks_queue_wait_seconds", "", `,queue="requests"`),
    ),
    stat("CPU", "cores", "Cores that the whole master uses.", `rate(process_cpu_seconds_total{m}[$__rate_interval])`),
    stat("Memory", "bytes", "Resident memory of the whole master.", `process_resident_memory_bytes{m}`),
    line(
      "Minions",
      "minions",
      "Accepted keys, and minions that are connected.",
      q("saltworks_minions{m}", "{{instance}} {{state}}"),
    ),
    line(
      "Returns",
      "ops",
      "Returns by outcome. Duplicates are returns that a minion sent again.",
      rates("saltworks_returns_total", "outcome"),
    ),
    line(
      "Requests by command",
      "ops",
      "Accepted requests. Salt's commands; all others are other.",
      rates("saltworks_requests_total", "command"),
    ),
    line(
      "Refused requests",
      "ops",
      "By reason: most are refused before they are decrypted.",
      rates("saltworks_refusals_total", "reason"),
      rates("saltworks_minion_refusals_total", "reason"),
      rates("saltworks_unproven_refused_total", "reason", "unproven {{reason}}"),
    ),
  ],
};

const path: PanelRow = {
  title: "The path of a request",
  panels: [
    line(
      "Wait for a worker",
      "s",
      "Quantiles of the time that a batch's oldest request waited on the main thread.",
      ...[0.5, 0.99, 0.999].map((share) =>
        q(quantile(share, "saltworks_queue_wait_seconds", "queue"), `{{instance}} {{queue}} p${share * 100}`),
      ),
    ),
    stack(
      "Time per request by stage",
      "s",
      "Time of all batches by stage, divided by their requests.",
      q(
        "sum by (instance,stage) (rate(saltworks_stage_seconds_sum{m}[$__rate_interval])) / on (instance) group_left sum by (instance) (rate(saltworks_batch_items_sum{m}[$__rate_interval]))",
        "{{instance}} {{stage}}",
      ),
    ),
    line(
      "Requests in a batch",
      "short",
      "One commit serves a batch: larger batches cost less a request.",
      q(
        "sum by (instance) (rate(saltworks_batch_items_sum{m}[$__rate_interval])) / sum by (instance) (rate(saltworks_batch_items_count{m}[$__rate_interval]))",
        "{{instance}}",
      ),
    ),
    line(
      "Waiting requests",
      "short",
      "Requests that wait for a worker, and those without a reply so far.",
      q("sum by (instance) (saltworks_queue_items{m})", "{{instance}} for a worker"),
      q("saltworks_requests_unanswered{m}", "{{instance}} unanswered"),
    ),
    line("Commits", "ops", "Transactions of the job cache.", rates("saltworks_commits_total", "outcome")),
    line(
      "Faults of the disk",
      "short",
      "Failed writes and reads in five minutes.",
      q("sum by (instance,kind) (increase(saltworks_disk_faults_total{m}[5m]))", "{{instance}} {{kind}}"),
    ),
  ],
};

const threads: PanelRow = {
  title: "Threads",
  panels: [
    stack(
      "CPU by thread",
      "cores",
      "Cores by the thread's name.",
      rates("saltworks_thread_cpu_seconds_total", "thread"),
    ),
    line(
      "Busy share of event loops",
      "percentunit",
      "At 1 a thread is the bottleneck. The main thread receives, sends and follows jobs.",
      q(
        "rate(saltworks_event_loop_busy_seconds_total{m}[$__rate_interval]) / (rate(saltworks_event_loop_busy_seconds_total{m}[$__rate_interval]) + rate(saltworks_event_loop_idle_seconds_total{m}[$__rate_interval]))",
        "{{instance}} {{thread}}",
      ),
    ),
    line(
      "Event loop delay, p99",
      "s",
      "How late a timer ran.",
      q(quantile(0.99, "saltworks_event_loop_delay_seconds", "thread"), "{{instance}} {{thread}}"),
    ),
    line(
      "Heap by thread",
      "percentunit",
      "Used share of the heap at whose end the thread ends.",
      q("saltworks_heap_used_bytes{m} / saltworks_heap_limit_bytes{m}", "{{instance}} {{thread}}"),
    ),
    line(
      "Waiting tasks of lanes",
      "short",
      "Tasks not finished.",
      q("saltworks_lane_pending{m}", "{{instance}} {{lane}}"),
    ),
    line(
      "Failures of lanes",
      "ops",
      "Tasks refused, failed or timed out.",
      rates("saltworks_lane_failures_total", "lane,outcome", "{{lane}} {{outcome}}"),
    ),
  ],
};

const bounds: PanelRow = {
  title: "Limits",
  panels: [
    line(
      "Nearest limits",
      "percentunit",
      "The ten limits that are used most, as shares of the limit.",
      q("topk(10, saltworks_limit_used{m} / saltworks_limit_max{m})", "{{instance}} {{limit}}"),
    ),
    line(
      "Limits met",
      "short",
      "How often a limit was reached in five minutes, so that something was refused, dropped or cut.",
      q("increase(saltworks_limit_hits_total{m}[5m]) > 0", "{{instance}} {{limit}}"),
    ),
  ],
};

const entry: PanelRow = {
  title: "Authentication and connections",
  panels: [
    line("Authentications", "ops", "Decided, by result.", rates("saltworks_auths_total", "result")),
    line(
      "Authentications that wait",
      "short",
      "They wait behind all other requests.",
      q("saltworks_auth_queue_items{m}", "{{instance}}"),
    ),
    line(
      "Passwords",
      "ops",
      "Checks of external authentication.",
      rates("saltworks_credential_checks_total", "backend,outcome", "{{backend}} {{outcome}}"),
    ),
    line(
      "Connections",
      "short",
      "To both ports, by state.",
      q("saltworks_connections{m}", "{{instance}} requests {{state}}"),
      q("saltworks_publish_connections{m}", "{{instance}} publish {{state}}"),
    ),
    line(
      "Closed connections",
      "ops",
      "By the bound that they went over.",
      rates("saltworks_connections_closed_total", "reason", "requests {{reason}}"),
      rates("saltworks_publish_connections_closed_total", "reason", "publish {{reason}}"),
    ),
    line(
      "Copies of publishes",
      "ops",
      "Sent to subscribers, or dropped for subscribers that do not read.",
      rates("saltworks_publish_copies_total", "outcome"),
    ),
  ],
};

const content: PanelRow = {
  title: "Pillars, files, mines and jobs",
  panels: [
    line("Pillars", "ops", "By outcome.", rates("saltworks_pillars_total", "outcome")),
    line(
      "Time of a pillar, p99",
      "s",
      "Wait, sources and rendering.",
      q(quantile(0.99, "saltworks_pillar_seconds", "part"), "{{instance}} {{part}}"),
    ),
    line("Requests for files", "ops", "By outcome.", rates("saltworks_file_requests_total", "outcome")),
    line("Requests for mines", "ops", "By outcome.", rates("saltworks_mine_reads_total", "outcome")),
    line("Jobs", "ops", "Published, or without a minion.", rates("saltworks_jobs_total", "outcome")),
    line(
      "Jobs under way",
      "short",
      "Followed to their end, or waiting for absent minions.",
      q("saltworks_jobs_followed{m}", "{{instance}} followed"),
      q("saltworks_jobs_pending{m}", "{{instance}} wait for minions"),
    ),
  ],
};

const around: PanelRow = {
  title: "Events, reactor, databases and Python",
  panels: [
    line("Events", "ops", "By source.", rates("saltworks_events_total", "source")),
    line(
      "Lost events",
      "ops",
      "For subscribers that read too slowly.",
      q("rate(saltworks_events_dropped_total{m}[$__rate_interval])", "{{instance}}"),
    ),
    line(
      "Reactions",
      "ops",
      "By kind and outcome.",
      rates("saltworks_reactor_reactions_total", "kind,outcome", "{{kind}} {{outcome}}"),
    ),
    line(
      "Behind: database and returners",
      "s",
      "Age of the oldest job or event that waits.",
      q("saltworks_database_lag_seconds{m}", "{{instance}} database of jobs"),
      q("saltworks_event_return_lag_seconds{m}", "{{instance}} {{returner}}"),
    ),
    line("Questions to Python", "ops", "By outcome.", rates("saltworks_sidecar_requests_total", "outcome")),
    line(
      "Restarts",
      "short",
      "Workers, the publish thread and the HTTP API, in an hour.",
      q("increase(saltworks_workers_lost_total{m}[1h])", "{{instance}} workers"),
      q("increase(saltworks_publish_threads_lost_total{m}[1h])", "{{instance}} publish thread"),
      q("increase(saltworks_api_restarts_total{m}[1h])", "{{instance}} API"),
    ),
  ],
};

export const panelRows: readonly PanelRow[] = [fleet, path, threads, bounds, entry, content, around];
