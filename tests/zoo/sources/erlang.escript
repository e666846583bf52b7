#!/usr/bin/env escript
%% An Erlang/OTP server. Arguments: address, port, versions and suites (IANA names) with commas, groups, order,
%% certificate, key.
main([Address, Port, Versions, Suites, Groups, Order, Certificate, Key]) ->
    {ok, _} = application:ensure_all_started(ssl),
    logger:set_primary_config(level, none),
    {ok, Ip} = inet:parse_address(Address),
    Curves = [list_to_atom(G) || G <- string:lexemes(Groups, ",")],
    Options = [
        {ip, Ip}, {reuseaddr, true}, {active, false}, {backlog, 100},
        {versions, [list_to_atom(V) || V <- string:lexemes(Versions, ",")]},
        {ciphers, [ssl:str_to_suite(S) || S <- string:lexemes(Suites, ",")]},
        {eccs, Curves},
        {honor_cipher_order, Order =:= "server"},
        {certfile, Certificate}, {keyfile, Key}
        %% An option of TLS 1.3 alone.
        | [{supported_groups, Curves} || string:find(Versions, "tlsv1.3") =/= nomatch]
    ],
    {ok, Listener} = ssl:listen(list_to_integer(Port), Options),
    spawn(fun() -> accept(Listener) end),
    wait_for_end_of_input().

accept(Listener) ->
    {ok, Socket} = ssl:transport_accept(Listener),
    Worker = spawn(fun() -> receive go -> serve(Socket) end end),
    ssl:controlling_process(Socket, Worker),
    Worker ! go,
    accept(Listener).

serve(Socket) ->
    case ssl:handshake(Socket, 5000) of
        {ok, Tls} -> ssl:recv(Tls, 0, 5000), ssl:close(Tls);
        {error, _} -> ok
    end.

wait_for_end_of_input() ->
    case io:get_line("") of
        eof -> halt(0);
        {error, _} -> halt(0);
        _ -> wait_for_end_of_input()
    end.
