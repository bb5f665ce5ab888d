// The page's own words, in zh and en. What the bot says arrives worded.

const WORDS = {
  en: {
    tongue: "中文",
    tongueLabel: "切换到中文",
    connecting: "Connecting…",
    connected: "Connected",
    reconnecting: "Reconnecting…",
    locked: "Link no longer valid",
    lockedHow: "This link is no longer valid. Open the one that “paigate up” printed.",
    welcome: "What should be done?",
    welcomeHow: "Describe a coding task. The agent asks you before it changes a file or runs a command.",
    conversation: "Conversation",
    message: "Message",
    messageHint: "Message Paigate",
    send: "Send",
    newMessages: "↓ New messages",
    you: "You",
    sending: "Sending…",
    waiting: "Not sent yet, trying again…",
    refused: "Not accepted",
    tooLong: "This message is too long.",
    edit: "Edit again",
    edited: "edited",
    reason: "Why not? (optional)",
    cancel: "Cancel",
    notReached: "That did not get through. Please tap again.",
    allowChanged: "Allow with these changes",
    showAll: (lines) => `Show all ${lines} lines`,
    showLess: "Show less",
    diff: "Changes",
    download: (name) => `Download ${name}`,
  },
  zh: {
    tongue: "EN",
    tongueLabel: "Switch to English",
    connecting: "连接中…",
    connected: "已连接",
    reconnecting: "重新连接中…",
    locked: "链接已失效",
    lockedHow: "链接已失效，请打开“paigate up”打印的链接。",
    welcome: "要做什么？",
    welcomeHow: "说出一个编程任务。修改文件或运行命令之前，它都会先问你。",
    conversation: "对话",
    message: "消息",
    messageHint: "发消息给 Paigate",
    send: "发送",
    newMessages: "↓ 新消息",
    you: "你",
    sending: "发送中…",
    waiting: "尚未送达，正在重试…",
    refused: "未被接受",
    tooLong: "消息太长了。",
    edit: "重新编辑",
    edited: "已编辑",
    reason: "为什么拒绝？（可不填）",
    cancel: "取消",
    notReached: "没有送达，请再点一次。",
    allowChanged: "按修改后的内容允许",
    showAll: (lines) => `显示全部 ${lines} 行`,
    showLess: "收起",
    diff: "改动",
    download: (name) => `下载 ${name}`,
  },
};

// Arguments of calls that can be changed on a card; others go by their own names.
const ARGUMENTS = {
  en: new Map([["command", "Command"], ["content", "Content"], ["name", "Name"], ["new_text", "New text"]]),
  zh: new Map([["command", "命令"], ["content", "内容"], ["name", "名称"], ["new_text", "新文本"]]),
};

const EXAMPLES = {
  en: ["change Hello World to Hello PaiCLI in hello.py, then run it", "what is in this project?"],
  zh: ["把 Hello.java 里的 Hello World 改成 Hello PaiCLI", "这个项目里有什么？"],
};

const REMEMBERED = "paigate.language";

let current = initial();

function initial() {
  const wish = localStorage.getItem(REMEMBERED) ?? document.documentElement.dataset.language;
  if (wish in WORDS) return wish;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export function language() {
  return current;
}

export function word(key, ...values) {
  const found = WORDS[current][key];
  return typeof found === "function" ? found(...values) : found;
}

export function argumentName(name) {
  return ARGUMENTS[current].get(name) ?? name;
}

export function examples() {
  return EXAMPLES[current];
}

export function switchLanguage() {
  current = current === "zh" ? "en" : "zh";
  localStorage.setItem(REMEMBERED, current);
}

/** Word everything that is in the document from its start. */
export function wordPage() {
  document.documentElement.lang = current === "zh" ? "zh-CN" : "en";
  for (const element of document.querySelectorAll("[data-word]")) element.textContent = word(element.dataset.word);
  for (const element of document.querySelectorAll("[data-word-label]")) {
    element.setAttribute("aria-label", word(element.dataset.wordLabel));
  }
  for (const element of document.querySelectorAll("[data-word-placeholder]")) {
    element.placeholder = word(element.dataset.wordPlaceholder);
  }
}
