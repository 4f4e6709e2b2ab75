// The live page. What workers wrote reaches the document as text nodes only, made safe by plain().

const page = document.documentElement.dataset;
const isReadOnly = page.control === "off";
const byId = (id) => document.getElementById(id);

// ---------------------------------------------------------------- text

const SEQUENCE =
  /(?:\x1b\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?/g;
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
const INVISIBLE = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

// As amiral/base/plain.py: no control characters, direction marks visible.
function plain(text) {
  const bare = String(text).replaceAll("\r\n", "\n").replace(SEQUENCE, "").replace(CONTROL, "");
  const shown = (mark) => `<U+${mark.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}>`;
  return bare.replace(INVISIBLE, shown);
}

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.map((one) => (one instanceof Node ? one : plain(one))));
  return element;
}

function action(label, key, act, className = "") {
  const button = make("button", { type: "button", "data-key": key, class: className }, label);
  button.addEventListener("click", async () => {
    button.disabled = true;
    await act();
    button.disabled = false;
    refresh();
  });
  return button;
}

function actions(...buttons) {
  return isReadOnly ? "" : make("div", { class: "actions" }, ...buttons);
}

const timeOf = (instant) =>
  new Date(instant).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });

// ---------------------------------------------------------------- asking

function tell(text) {
  byId("told").textContent = plain(text);
}

async function ask(path, options = {}) {
  const response = await fetch(path, options);
  if (response.status === 401) showClosed();
  return response;
}

async function get(path) {
  const response = await ask(path, { headers: { accept: "application/json" } });
  return response.ok ? response.json() : null;
}

// Carries a command out and gives its answer as text, or null after telling what went wrong.
async function run(name, values) {
  tell("");
  try {
    const response = await ask(`api/commands/${name}`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/plain" },
      body: JSON.stringify(values),
    });
    const text = (await response.text()).trim();
    if (response.ok) return text;
    tell(text);
  } catch {
    tell("✗ amiral does not answer");
  }
  return null;
}

async function runAndTell(name, values) {
  const text = await run(name, values);
  if (text !== null) tell(text);
}

// ---------------------------------------------------------------- showing

const shown = new Map();

// Fills a list anew when its data has changed; the focus stays on the button it was on.
function fill(id, data, items) {
  const now = JSON.stringify(data);
  if (shown.get(id) === now) return false;
  shown.set(id, now);
  const list = byId(id);
  const key = list.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  list.replaceChildren(...items());
  if (key) list.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
  return true;
}

function showNeeds(project, specs, requests) {
  const limited = project.workers.filter((worker) => worker.state === "limited");
  const drafts = specs.filter((spec) => spec.status === "draft").length;
  const failed = specs.filter((spec) => spec.failed).length;
  const asked = requests.length;
  fill("needs", [project.stop_id, project.notices, limited, asked, drafts, failed], () => {
    const rows = [];
    if (project.stop_id) {
      const release = () => runAndTell("release", { stop_id: project.stop_id });
      rows.push(row(`⛔ stop ${project.stop_id} is on`, action("Release", "release", release)));
    }
    if (asked) rows.push(row(`? ${asked} ${asked === 1 ? "request waits" : "requests wait"} for you`));
    if (drafts) rows.push(row(`? ${drafts} ${drafts === 1 ? "spec waits" : "specs wait"} for you`));
    if (failed) rows.push(row(`✗ ${failed} ${failed === 1 ? "spec has" : "specs have"} failed`));
    for (const worker of limited) rows.push(limitedRow(worker));
    rows.push(...project.notices.map((notice) => row(`? ${notice}`)));
    return rows.length ? rows : [row("✓ Nothing needs you.")];
  });
}

function limitedRow(worker) {
  const name = worker.id;
  const until = worker.limited_until;
  const when = until === "unknown" ? "no hour given" : `resets ${timeOf(until)}`;
  return row(
    `⏸ ${name} is limited · ${when}`,
    action(`Resume ${name} now`, `resume ${name}`, () => runAndTell("limits/resume", { worker: name })),
    action(`Give up`, `give up ${name}`, () => runAndTell("limits/cancel", { worker: name })),
  );
}

function row(text, ...buttons) {
  return make("li", {}, make("span", {}, text), actions(...buttons));
}

// What a worker asks for. An answer is to exactly what is shown here: the digest goes with it.
function showRequests(requests) {
  byId("requests-section").hidden = !requests.length;
  fill("requests", requests, () => requests.map(requestCard));
}

function requestCard(request) {
  const { id, digest } = request;
  const give = (answer) => runAndTell("approve-request", { id, answer, digest });
  return make(
    "li",
    { "aria-label": plain(`Request ${id}`) },
    make("h3", {}, `? ${request.worker} wants to use ${request.tool}`),
    make("p", { class: "pre asked" }, request.preview),
    make("p", { class: "soft" }, request.why),
    make("p", { class: "soft" }, `Request ${id} · expires ${timeOf(request.expires_at)}`),
    actions(
      action(`Allow ${id} once`, `allow ${id}`, () => give("allow")),
      action(`Deny ${id}`, `deny ${id}`, () => give("deny"), "danger"),
    ),
  );
}

const MARKS = { working: "⏳", waiting: "⏳", limited: "⏸" };
let chosen = "";

function showWorkers(project, workers) {
  const names = new Map(workers.map((worker) => [worker.id, worker]));
  if (!names.has(chosen)) chosen = project.active_worker || workers[0]?.id || "";
  fill("workers", [chosen, project.workers, workers], () =>
    project.workers.map((state) => {
      const { label = state.id, icon = "", driver = "" } = names.get(state.id) ?? {};
      const pick = make(
        "button",
        { type: "button", "aria-pressed": String(state.id === chosen), "data-key": state.id },
        `${icon} ${label}`.trim(),
      );
      pick.addEventListener("click", () => choose(state.id));
      const waiting = state.waiting ? ` · ${state.waiting} waiting` : "";
      const told = `${MARKS[state.state] ?? "✓"} ${state.state}${waiting} · ${driver}`;
      const interrupt = action(`Interrupt ${label}`, `interrupt ${state.id}`, () =>
        runAndTell("interrupt", { worker: state.id }),
      );
      const may = state.state === "working" ? actions(interrupt) : "";
      return make("li", {}, pick, make("span", { class: "soft" }, told), may);
    }),
  );
  const label = names.get(chosen)?.label ?? chosen;
  byId("talk-title").textContent = plain(`Conversation with ${label}`);
}

function choose(worker) {
  chosen = worker;
  byId("live").hidden = true;
  refresh();
}

const ORDER = ["draft", "executing", "approved", "rejected", "done"];
const MOST_SPECS = 30;

function showSpecs(specs) {
  const rank = (spec) => ORDER.indexOf(spec.status);
  const newest = (a, b) => rank(a) - rank(b) || b.updatedAt.localeCompare(a.updatedAt);
  const sorted = [...specs].sort(newest).slice(0, MOST_SPECS);
  byId("specs-section").hidden = !specs.length;
  fill("specs", sorted, () => sorted.map(specCard));
}

function specCard(spec) {
  const state = spec.failed ? "failed" : spec.status;
  const reason = spec.reason ? make("p", {}, `${spec.failed ? "✗" : "·"} ${spec.reason}`) : "";
  const tested = spec.tests ? make("p", { class: "pre" }, `Tests  ${spec.tests}`) : "";
  return make(
    "li",
    { "aria-label": plain(`Spec ${spec.id}`) },
    make("p", { class: "soft" }, `Spec ${spec.id} · ${state} · ${spec.complexity}`),
    make("h3", {}, spec.title),
    make("p", { class: "pre" }, `Why  ${spec.problem}`),
    make("p", { class: "pre" }, `How  ${spec.approach}`),
    make("p", {}, "Done when"),
    make("ul", {}, ...spec.acceptance.map((one, at) => make("li", {}, ticked(spec, one, at)))),
    make("p", { class: "pre" }, `Files  ${spec.files.join(", ") || "none named"}`),
    reason,
    tested,
    specActions(spec),
  );
}

const ticked = (spec, criterion, at) => (spec.ticks?.[at] ? `✓ ${criterion}` : criterion);

// A revision is approved as it is shown here, not as it may have become since.
function specActions(spec) {
  const { id } = spec;
  const approved = `${id}.${spec.revision}`;
  const approve = action(`Approve ${id}`, `approve ${id}`, () => runAndTell("approve", { id: approved }));
  const reject = action(`Reject ${id}`, `reject ${id}`, () => runAndTell("reject", { id }), "danger");
  const again = action(`Run ${id} again`, `run ${id}`, () => runAndTell("spec/run", { id }));
  if (spec.status === "draft") return actions(approve, reject);
  return spec.failed ? actions(again, reject) : "";
}

function showConversation(conversation) {
  const log = byId("log");
  const isAtEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 80;
  const isNew = fill("log", conversation, () => {
    const said = conversation.messages.map(utterance);
    return said.length ? said : [make("li", { class: "soft" }, "Nothing said yet.")];
  });
  if (isNew && isAtEnd) log.scrollTop = log.scrollHeight;
}

const FINE = ["", "done"];

function utterance(one) {
  const isMine = one.speaker !== chosen;
  const outcome = FINE.includes(one.outcome) ? "" : ` · ${one.outcome}`;
  return make(
    "li",
    { class: isMine ? "mine" : "" },
    make("p", { class: "soft" }, `${one.speaker} · ${timeOf(one.ts_ms)}${outcome}`),
    make("p", { class: "pre" }, one.text),
  );
}

let isClosed = false;

function showClosed() {
  isClosed = true;
  byId("link").textContent = "closed: run `amiral url` and open what it prints";
  source?.close();
}

// ---------------------------------------------------------------- staying up to date

let isLoading = false;
let isStale = false;

// Loads everything once more; what changes meanwhile leads to one more round, not to many.
async function refresh() {
  isStale = true;
  if (isLoading) return;
  isLoading = true;
  try {
    while (isStale) {
      isStale = false;
      await load();
    }
  } catch {
    byId("link").textContent = "no answer";
  } finally {
    isLoading = false;
  }
}

async function load() {
  const [status, list, found, held, asked] = await Promise.all([
    get("api/status"),
    get("api/workers"),
    get("api/specs"),
    get("api/conversations"),
    get("api/approvals"),
  ]);
  if (!status || !list) return;
  const [project] = status.projects;
  const specs = found ?? [];
  const requests = asked?.approvals ?? [];
  showNeeds(project, specs, requests);
  showRequests(requests);
  showWorkers(project, list.workers);
  showSpecs(specs);
  byId("stop").disabled = Boolean(project.stop_id);
  const name = [chosen, "owner"].sort().join("-");
  const isHeld = held?.conversations.some((one) => one.id === name);
  const path = `api/conversations/${encodeURIComponent(name)}`;
  showConversation((isHeld && (await get(path))) || { id: name, messages: [] });
}

let source = null;
let place = page.place;
const QUIET = new Set(["OutputRead", "NoiseRead", "ToolUsed", "WorkerSaid", "AnswerRead"]);

function hear(event) {
  if (event.lastEventId === place) return;
  place = event.lastEventId;
  showLive(event);
  if (!QUIET.has(event.type)) refresh();
}

function showLive(event) {
  const live = byId("live");
  const { payload } = JSON.parse(event.data);
  if (payload?.worker !== chosen) return;
  if (event.type === "WorkerSaid") live.textContent = plain(`⏳ ${payload.text.slice(-600)}`);
  if (event.type === "ToolUsed") live.textContent = plain(`⏳ ${payload.tool} ${payload.summary}`);
  if (event.type === "WorkerSaid" || event.type === "ToolUsed") live.hidden = false;
  if (event.type === "TurnEnded") live.hidden = true;
}

function connect() {
  if (isClosed || document.hidden) return;
  source?.close();
  source = new EventSource(`api/stream?after=${encodeURIComponent(place)}`);
  for (const name of page.events.split(" ")) source.addEventListener(name, hear);
  source.addEventListener("resync", (event) => {
    place = event.lastEventId;
    refresh();
  });
  source.addEventListener("open", () => {
    byId("link").textContent = "live";
    refresh();
  });
  source.addEventListener("error", () => {
    if (!isClosed) byId("link").textContent = "connecting";
    if (source.readyState !== EventSource.CLOSED) return;
    refresh();
    setTimeout(connect, 3000);
  });
}

// A browser has six connections to one address for all of its tabs: one that nobody sees needs none.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) source?.close();
  else connect();
});

// ---------------------------------------------------------------- acting

const IS_FOR_ALL = /^(\/.*|stop[!.]?)$/is;

byId("say").addEventListener("submit", async (event) => {
  event.preventDefault();
  const box = byId("text");
  const text = box.value.trim();
  if (!text) return;
  const isCommand = IS_FOR_ALL.test(text);
  const answer = await run("say", { text: isCommand ? text : `/w:${chosen} ${text}`, wait: 0 });
  if (answer === null) return;
  box.value = "";
  if (isCommand) tell(answer);
});

const isTouch = matchMedia("(pointer: coarse)").matches;

byId("text").addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || isTouch) return;
  event.preventDefault();
  byId("say").requestSubmit();
});

byId("stop").addEventListener("click", () => byId("confirm").showModal());
byId("confirm-no").addEventListener("click", () => byId("confirm").close());
byId("confirm-yes").addEventListener("click", async () => {
  byId("confirm").close();
  await runAndTell("emergency-stop", {});
  refresh();
});

byId("say").hidden = isReadOnly;
byId("stop").hidden = isReadOnly;
connect();
refresh();
