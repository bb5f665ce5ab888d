"""What a person's words forbid: going online, or doing anything about a bare title; and what forbids nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.restrictions import Restrictions, announcement, restrictions_in

OFFLINE = """
不要联网
别上网搜
无需搜索
只用本地文件
不要联网，直接写一个贪吃蛇
帮我写个爬虫教程，别上网查资料
请不要上网搜索
不需要联网搜索，直接回答
不要使用网络
仅根据我给的资料回答
只看我提供的文件
只能用项目里的代码
请离线完成
全程离线
在断网状态下完成
禁止联网
不用去网上找了
不要從網路上找資料，只用本地檔案
不要搜索，直接改
无须上网
不要用百度
不許上網
不要访问互联网
请勿联网搜索
但是不要联网
写代码但不要上网
你不能上网
不要用 web 搜索
offline only
Offline only please
only offline
don't go online
Don’t go online, please
ＤＯＮ'Ｔ ＧＯ ＯＮＬＩＮＥ
no internet
No web.
no internet/web
no web access
Rules: no internet
Please do this without searching the web
only use the files I gave
Only use the files I gave you
Use only the local files
Use nothing but the local files
Only what is in this folder
stick to the files in this folder
only use what I gave you
Fix the bug but don't go online
Fix the login bug, no internet please
please do not search the web for this
do not use the internet
do not use the internet for this
you must not use the web
don't use the network at all
Do not access the network.
never browse the web
avoid the internet
Do it offline only
stay offline
Please work offline
You must not go online.
you don't need to go online
I don't want you to search online
do not look it up online
Don't google it
Refactor it; no need to search the web
Answer without googling
Explain this without internet access
without internet
Summarise using only the documents I attached
Take nothing from the internet
no web search
no browsing, just read the code
fix the parser offline only
""".strip().splitlines()

ONLINE = r"""
1
ok
👍
继续
go on
go into demo, compile and run
fix: the login page crashes
修复登录：点击无反应
the site works offline only, fix it
the site is offline only, fix it
the feature is offline only
players who work offline only
make the game work offline
Make the app work without internet
it works without going online
The page must be usable without network access
The app crashes when there is no internet connection
show an error message when the user is offline
the button shows no internet
fix the "no internet" banner
edit `no internet` label
change the text to "don't go online"
```\ndon't go online\n```
Error: no internet
I have no internet
no internet connection handling
no network interface is listed
why is there no internet in the sandbox?
users don't go online often
add an offline mode
online only mode
search the web for the newest version
don't use the web server for static files
do not use the network module
do not touch the network code
never block the network thread
don't use web fonts
do not use the web app manifest
don't use the internet explorer icon
read only the first file
use only one file
给应用加离线模式
写一个离线下载器
做一个不需要联网的贪吃蛇
修复程序不能联网的问题
应用不联网也能用
游戏不用联网也能玩
用户不用上网
不要联网功能
这个程序特别上网慢
不要搜索 node_modules 目录
不要搜索框
把提示改成“请不要联网”
把标题改成「不要上网」
要不要联网？
是否需要联网
是不是不用上网
上网搜一下
打开网页
不要用网络库
不要用 web 框架
但是不要改网络请求
不要用google fonts
只用本地文件存储数据
只看第一个文件
""".strip().splitlines()

TITLES = """
《深入理解 Java 虚拟机》
《为什么 Redis 这么快？》
《三体》
【Redis 为什么这么快】
# 分布式系统设计笔记
# A tour of the agent loop
Spring Boot 实战：从零搭建一个 AI 网关
PaiCLI：一个会写代码的智能体
深入浅出 JVM：垃圾回收机制全解析
Agent 开发入门（附源码）
面渣逆袭 Redis 篇（附 PDF 下载）
2026 年 Java 八股文（附 300 道面试题）
The Agent Loop: a deep dive
Rust in practice: lessons from two years
""".strip().splitlines()

REQUESTS = r"""
1
2
yes
ok
hello
go on
go into demo, compile and run
fix: the login page crashes
修复登录：点击无反应
登录页：点击按钮没反应
bug：登录页空白
用户名：张三丰
name: Alice Smith
数据库：用 MySQL
答案：第二个方案
选项：第二个
a: b
feat(login): add a button
TypeError: cannot read property x of undefined
main.c:12: error: expected ;
hello.py：入门
帮我写个爬虫(附源码)
写一个爬虫，从入门到精通(附源码)
《帮我写个游戏》
【修复登录】
# fix the login
# 修复登录
# 1
#123
# how does it work?
看看 https://example.com/a：从零入门教程
www.example.com：从零入门教程
写一篇文章：Redis 入门教程
Write a post: Redis from scratch
标题：Redis 入门指南，写成 markdown
How does it work: a guide?
Python 3：怎么排序列表的入门教程？
please: a guide to Redis
Deploy guide: run it on the server
Translate this: the art of war
入门教程：页面打不开，报错
今天的任务：继续昨天的
# A title\nand then a request
""".strip().splitlines()


@pytest.mark.requirement("exposure.no-network")
@pytest.mark.parametrize("text", OFFLINE)
def test_not_going_online_is_understood(text: str) -> None:
    assert restrictions_in(text) == Restrictions(no_network=True)


@pytest.mark.requirement("exposure.no-network")
@pytest.mark.parametrize("text", ["Please build the page.\n- tests pass\n- {}\nThanks!", "《标题》写成文章。{}。谢谢"])
def test_it_is_understood_in_the_middle_of_a_request(text: str) -> None:
    assert restrictions_in(text.format("don't go online")).no_network
    assert restrictions_in(text.format("不要联网")).no_network
    assert not restrictions_in(text.format("")).no_network


@pytest.mark.requirement("exposure.only-tightens", "exposure.quoted")
@pytest.mark.parametrize("text", [text.replace("\\n", "\n") for text in ONLINE])
def test_what_a_program_is_to_do_offline_and_short_words_forbid_nothing(text: str) -> None:
    assert restrictions_in(text) == Restrictions()


@pytest.mark.requirement("exposure.ask-first")
@pytest.mark.parametrize("text", TITLES)
def test_a_bare_title_is_asked_about_first(text: str) -> None:
    assert restrictions_in(text) == Restrictions(ask_first=True)
    assert restrictions_in(f"\n {text} \n") == Restrictions(ask_first=True)


@pytest.mark.requirement("exposure.ask-first", "exposure.only-tightens")
@pytest.mark.parametrize("text", [text.replace("\\n", "\n") for text in REQUESTS])
def test_requests_faults_answers_and_questions_are_no_titles(text: str) -> None:
    assert not restrictions_in(text).ask_first


@pytest.mark.requirement("exposure.ask-first")
@pytest.mark.parametrize(
    "request_words", ["请写成文章", "帮我读一下", "please summarise it", "can you explain it", "一下"]
)
@pytest.mark.parametrize("title", TITLES)
def test_a_title_with_a_request_is_a_request(title: str, request_words: str) -> None:
    assert not restrictions_in(f"{title}，{request_words}").ask_first
    assert not restrictions_in(f"{request_words}：{title}").ask_first


@pytest.mark.parametrize("text", ["《" + "长" * 219 + "》", "# " + "long " * 50, "a" * 49 + "：入门教程"])
def test_a_long_text_is_no_title(text: str) -> None:
    assert not restrictions_in(text).ask_first


@pytest.mark.requirement("exposure.only-tightens")
@pytest.mark.parametrize(
    "text", ["", " \n", "\0", "\ud83d", "🙂" * 1_000, "不" * 100_000, "“" * 100_000, "no " * 50_000]
)
def test_odd_messages_forbid_nothing(text: str) -> None:
    assert restrictions_in(text) == Restrictions()


@pytest.mark.requirement("exposure.only-tightens")
@given(st.sampled_from(OFFLINE), st.text(st.characters(exclude_categories=("Cs",)), max_size=40))
def test_nothing_that_follows_takes_a_prohibition_back(text: str, more: str) -> None:
    assert restrictions_in(f"{text}\n\n{more}").no_network


@pytest.mark.parametrize(
    ("restrictions", "words"),
    [
        (Restrictions(), []),
        (Restrictions(no_network=True), ["not to go online"]),
        (Restrictions(ask_first=True), ["only a title", "ask in one short question"]),
        (Restrictions(no_network=True, ask_first=True), ["not to go online", "only a title"]),
    ],
)
def test_the_model_is_told_in_sentences(restrictions: Restrictions, words: list[str]) -> None:
    told = announcement(restrictions)
    assert all(word in told for word in words)
    assert bool(told) == bool(words)
