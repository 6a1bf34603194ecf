/** Exchanges that end differently here than in Salt, on purpose. An answer that differs and is not listed fails, and so does one that is listed and does not differ. */
import { readOwnPackage } from "../../../src/config/host/program.ts";

/** `body`: the whole body, or a pattern of its JSON. Of a command line: the exit code and the output. */
export type Instead = { readonly status: number; readonly body: unknown };
export type Difference = {
  /** Words of its sentence in docs/http-api.md, "Differences from Salt". */
  readonly doc: string;
  readonly exchanges: Readonly<Record<string, Instead>>;
};

const welcome: Instead = { status: 200, body: /^\{"return":"Welcome","clients":\["local",.*"wheel_async"\]\}$/ };
const loginWays: Instead = {
  status: 200,
  body: /^\{"status":null,"return":"Please log in","eauth":\["\w+"(?:,"\w+")*\](?:,"session":\{.*\})?\}$/,
};
const nothing: Instead = { status: 204, body: "" };
const ofM1: Instead = { status: 200, body: { return: [{ m1: true }] } };
const noSession = refused(401, "No permission -- see authorization schemes");
const noSsh = refused(501, "The client 'ssh' does not exist here: salt-ssh is not part of Saltworks");
const wrongMethod = refused(405, "Specified method is invalid for this resource");
const versions: Instead = {
  status: 200,
  body: { return: [{ Master: readOwnPackage().version, "Minion newer than master": { m1: "3007.0", m2: "3007.0" } }] },
};

function refused(status: number, text: string): Instead {
  return { status, body: { status, return: text } };
}

/** pepper knows the statuses 401 and 500; of another one it shows the words. */
const pepperStops = (status: string): Instead => ({ status: 1, body: `HTTP Error ${status}` });

export const differences: readonly Difference[] = [
  {
    doc: "`GET /login` lists the configured eauth systems",
    exchanges: { "session/login_get": loginWays, "session/trailing": loginWays },
  },
  {
    doc: "`app` answers only `GET` on `/` of clients that want HTML more than JSON",
    exchanges: {
      "session/root_get_no_accept": welcome,
      "session/post_no_accept": ofM1,
      "session/post_accept_json_star": ofM1,
      "session/post_html_accept": {
        status: 406,
        body: /^\{"status":406,"return":"Your client sent this Accept header: text\/html\./,
      },
    },
  },
  {
    doc: "A login without a body is answered with 400",
    exchanges: {
      "session/login_empty": refused(400, "A login is an object with username, password and eauth"),
    },
  },
  {
    doc: "`OPTIONS` is answered with 204",
    exchanges: {
      "session/options_preflight": nothing,
      "session/options_preflight_put": nothing,
      "resources/options_preflight": nothing,
      "resources/options_preflight_put": nothing,
    },
  },
  {
    doc: "A method that a path does not have gets 405",
    exchanges: { "session/method_delete": wrongMethod, "resources/logout_get": wrongMethod },
  },
  {
    doc: "`GET /keys` without a session is refused with the words of all paths",
    exchanges: { "session/keys_no_token": noSession },
  },
  { doc: "`GET /stats` ends with the session", exchanges: { "session/expired_stats": noSession } },
  {
    doc: "After the end of a session every path answers as to an unknown one",
    exchanges: { "session/expired_runner": noSession, "session/expired_logout": noSession },
  },
  { doc: "Query parameters of `GET /` are ignored", exchanges: { "session/get_query": welcome } },
  {
    doc: "404 always names the path",
    exchanges: { "session/minions_nested": refused(404, "The path '/minions/m1/x' was not found.") },
  },
  {
    doc: "A missing `fun` or `tgt`, an unknown runner and an unknown node group get 400",
    exchanges: {
      "clients/local_nodegroup_unknown": refused(400, "Node group zzz unavailable"),
      "clients/runner_unknown": refused(400, "'no.such' is not available."),
      "clients/runner_exception": refused(400, "'test.arg_required' is not available."),
      "clients/runner_bad_syntax": refused(400, "A command invocation error occurred: Check syntax."),
      "clients/missing_fun": refused(400, "A command needs a function in 'fun'"),
      "clients/missing_tgt": refused(400, "A command for minions needs a target in 'tgt'"),
      "saltgui/cmd-runner-bad": refused(400, "'no.such' is not available."),
      "pepper/bad_runner": pepperStops("400: Bad Request"),
    },
  },
  {
    doc: "`expr_form` stands for `tgt_type`",
    exchanges: { "clients/local_expr_form": { status: 200, body: { return: [{ m1: true, m2: true }] } } },
  },
  {
    doc: "A function's name with a comma is refused",
    exchanges: { "clients/local_multi_fun_csv": refused(401, "Authorization error occurred.") },
  },
  {
    doc: "An unknown wheel function is answered with a sentence",
    exchanges: {
      "clients/wheel_unknown": { status: 200, body: /"return":"'no\.such' is not available\.","success":false/ },
    },
  },
  {
    doc: "The client `ssh` answers 501",
    exchanges: {
      "clients/ssh_client": noSsh,
      "resources/root_post_raw_shell": noSsh,
      "pepper/ssh": pepperStops("501: Not Implemented"),
    },
  },
  {
    doc: "`POST /keys` without credentials gets 401",
    exchanges: { "resources/keys_post_token_only_header": refused(401, "No authentication credentials given") },
  },
  {
    doc: "`/token` needs no client in `netapi_enable_clients`",
    exchanges: {
      "resources/nosess_token": {
        status: 200,
        body: /^\[\{"start":[\d.]+,"expire":[\d.]+,"name":"admin","eauth":"file","token":"[0-9a-f]{64}"\}\]$/,
      },
    },
  },
  {
    doc: "`manage.versions` compares minions with this master's own version",
    exchanges: { "jobs/manage_versions": versions, "saltgui/login#9": versions },
  },
  {
    doc: "`local_subset` answers also if a minion is silent",
    exchanges: { "unresponsive-minion/frozen_subset": { status: 200, body: { return: [{ m1: true, m2: false }] } } },
  },
];
