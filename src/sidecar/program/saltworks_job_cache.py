"""A returner of the site as a job cache: writes jobs and returns as Salt's master does, and reads them in pages."""

import random
import time

import salt.payload
import salt.utils.args
import salt.utils.jid

# Returns of one answer. The bound of an answer is larger.
PAGE_BYTES = 16 * 1024 * 1024
FAILURES_BEFORE_A_PROBE = 3
NEEDED = ("returner", "save_load", "get_load", "get_jid")


def is_job_cache(returners, name):
    return all(f"{name}.{fun}" in returners for fun in NEEDED)


class JobCache:
    def __init__(self, opts, returners, name):
        if not is_job_cache(returners, name):
            raise KeyError(f"Salt has no job cache of this name, or cannot load it: {name}")
        self._opts = opts
        self._returners = returners
        self._name = name
        self._read = (None, [])

    def run(self, request):
        return getattr(self, "do_" + request["action"])(request)

    def _has(self, fun):
        return f"{self._name}.{fun}" in self._returners

    def _call(self, fun, *args):
        return self._returners[f"{self._name}.{fun}"](*args)

    def do_check(self, request):
        return True

    # Writing

    def do_write(self, request):
        """Writes row by row. If the first ones fail, another one shows whether the returner takes any."""
        rows, known = request["rows"], Known(self) if request["may_be_present"] else None
        end = time.monotonic() + request["seconds"]
        done, failed, present = [], {}, []
        order = list(range(len(rows)))
        at = 0
        while at < len(order):
            if at > 0 and time.monotonic() > end:
                break
            place = order[at]
            at += 1
            try:
                if self._store(rows[place], known):
                    present.append(place)
                done.append(place)
            except Exception as error:  # pylint: disable=broad-except
                failed[place] = f"{type(error).__name__}: {error}"
            if done or len(failed) < FAILURES_BEFORE_A_PROBE:
                continue
            if len(failed) > FAILURES_BEFORE_A_PROBE or at >= len(order):
                break
            probe = random.randrange(at, len(order))
            order[at], order[probe] = order[probe], order[at]
        first = next(iter(failed.values()), None)
        refused = []
        for place in list(failed) if done else []:
            # The server may have been away for a moment.
            try:
                if self._store(rows[place], known):
                    present.append(place)
                done.append(place)
            except Exception as error:  # pylint: disable=broad-except
                refused.append([place, f"{type(error).__name__}: {error}"])
        return {"done": done, "present": present, "refused": refused, "failure": first}

    def _store(self, row, known):
        """Whether the row was there already."""
        value, jid = salt.payload.loads(row["body"]), row["jid"]
        if known is not None and known.has(row["kind"], jid, value):
            return True
        if row["kind"] == "job":
            self._call("save_load", jid, value)
            return False
        self._call("returner", value)
        if self._opts.get("job_cache_store_endtime") and self._has("update_endtime"):
            self._call("update_endtime", jid, salt.utils.jid.jid_to_time(salt.utils.jid.gen_jid(self._opts)))
        return False

    def do_clean(self, request):
        if self._has("clean_old_jobs"):
            self._call("clean_old_jobs")
        return True

    # Reading

    def load_of(self, jid):
        return self._call("get_load", jid) or {}

    def returns_of(self, jid):
        return self._call("get_jid", jid) or {}

    def do_loads(self, request):
        return {jid: self.load_of(jid) for jid in request["jids"]}

    def do_returns(self, request):
        """A page of a job's returns, by minion. The next page is taken from the same answer of the returner."""
        jid, after, of = request["jid"], request["after"], request["of"]
        if after is None or self._read[0] != jid:
            found = self.returns_of(jid)
            self._read = (jid, sorted(found.items(), key=lambda pair: pair[0]))
        wanted = None if of is None else set(of)
        page, size = [], 0
        for minion, value in self._read[1]:
            if (after is not None and minion <= after) or (wanted is not None and minion not in wanted):
                continue
            if size > PAGE_BYTES:
                return {"returns": page, "has_more": True}
            page.append([minion, value])
            size += len(repr(value))
        self._read = (None, [])
        return {"returns": page, "has_more": False}

    def do_jids(self, request):
        """Ids of jobs: the newest first, or those behind `after` in their order. Ids that are not times come last."""
        jids = [str(jid) for jid in (self._call("get_jids") if self._has("get_jids") else [])]
        after, before = request["after"], request["before"]
        if after is not None:
            return sorted(jid for jid in set(jids) if jid > after)[: request["limit"]]

        def rank(jid):
            return (is_time(jid), jid)

        def is_wanted(jid):
            if request["from"] is not None and not (is_time(jid) and jid >= request["from"]):
                return False
            if request["until"] is not None and not (is_time(jid) and jid <= request["until"]):
                return False
            return before is None or rank(jid) < rank(before)

        return sorted(filter(is_wanted, set(jids)), key=rank, reverse=True)[: request["limit"]]


def is_time(jid):
    return len(jid) == 20 and jid.isdigit()


class Known:
    """What the returner has of the jobs of one write."""

    def __init__(self, cache):
        self._cache = cache
        self._loads = {}
        self._minions = {}

    def has(self, kind, jid, value):
        if kind == "job":
            if jid not in self._loads:
                self._loads[jid] = bool(self._cache.load_of(jid))
            return self._loads[jid]
        if jid not in self._minions:
            self._minions[jid] = set(self._cache.returns_of(jid))
        return value.get("id") in self._minions[jid]
